// OpenSSL 3, and static functions for the macros that Swift cannot import: each has the macro's name behind `shim_`.
#pragma once
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>

static const uint64_t shim_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t shim_SSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t shim_SSL_OP_NO_TICKET = SSL_OP_NO_TICKET;

static inline long shim_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

static inline long shim_SSL_CTX_set_read_ahead(SSL_CTX *context, int on) {
    return SSL_CTX_set_read_ahead(context, on);
}

static inline long shim_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

static inline int shim_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline int shim_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_max_proto_version(context, version);
}

static inline int shim_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline int shim_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline int shim_SSL_get_negotiated_group(SSL *ssl) {
    return (int)SSL_get_negotiated_group(ssl);
}

static inline EVP_PKEY *shim_EVP_EC_gen(const char *curve) {
    return EVP_EC_gen(curve);
}

static inline int shim_sk_GENERAL_NAME_num(const GENERAL_NAMES *names) {
    return sk_GENERAL_NAME_num(names);
}

static inline const GENERAL_NAME *shim_sk_GENERAL_NAME_value(const GENERAL_NAMES *names, int index) {
    return sk_GENERAL_NAME_value(names, index);
}

static inline int shim_sk_X509_num(const STACK_OF(X509) *certificates) {
    return sk_X509_num(certificates);
}

static inline X509 *shim_sk_X509_value(const STACK_OF(X509) *certificates, int index) {
    return sk_X509_value(certificates, index);
}

static inline void shim_sk_X509_pop_free(STACK_OF(X509) *certificates) {
    sk_X509_pop_free(certificates, X509_free);
}

// A fetch walks the providers under a lock, which costs more than hashing a short text: it is done once and kept
// for the life of the process, whichever thread comes first.
static inline const EVP_MD *shim_fetch_once(_Atomic(EVP_MD *) *kept, const char *name) {
    EVP_MD *digest = atomic_load(kept);
    if (digest != NULL) return digest;
    digest = EVP_MD_fetch(NULL, name, NULL);
    EVP_MD *first = NULL;
    if (digest == NULL || atomic_compare_exchange_strong(kept, &first, digest)) return digest;
    EVP_MD_free(digest);
    return first;
}

static inline const EVP_MD *shim_sha1(void) {
    static _Atomic(EVP_MD *) kept;
    return shim_fetch_once(&kept, "SHA1");
}

static inline const EVP_MD *shim_sha256(void) {
    static _Atomic(EVP_MD *) kept;
    return shim_fetch_once(&kept, "SHA256");
}

static inline int shim_sink_create(BIO *sink) {
    BIO_set_init(sink, 1);
    return 1;
}

// A sink has nothing to flush; everything else that a BIO may be asked for, it does not have.
static inline long shim_sink_ctrl(BIO *sink, int command, long number, void *pointer) {
    (void)sink, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

// A BIO that passes what is written to `write`. The method is made once and kept for the life of the process. `NULL`
// when out of memory.
static inline BIO *shim_BIO_new_sink(int (*write)(BIO *, const char *, int)) {
    static _Atomic(BIO_METHOD *) kept;
    BIO_METHOD *method = atomic_load(&kept);
    if (method == NULL) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sink");
        if (method == NULL) return NULL;
        BIO_meth_set_write(method, write);
        BIO_meth_set_ctrl(method, shim_sink_ctrl);
        BIO_meth_set_create(method, shim_sink_create);
        BIO_METHOD *first = NULL;
        if (!atomic_compare_exchange_strong(&kept, &first, method)) {
            BIO_meth_free(method);
            method = first;
        }
    }
    return BIO_new(method);
}
