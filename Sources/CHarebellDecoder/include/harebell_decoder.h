/*
 * Decoders in a shared library: the interface between Harebell ("the host") and a library that reads a message format.
 *
 * A library exports one function, harebell_decoder. Harebell loads it with immediate binding and local scope, never
 * unloads it, and calls it once for each decoder of its configuration that names the library. See
 * docs/produce/decoders/library.md.
 *
 * Rules:
 *
 * - decode is a function: of the same message it makes the same answer each time, apart from what it does with the
 *   time. It does not wait, opens nothing, and takes no longer than a message of this size has to.
 * - Nobody frees the other's memory. What the host gives is valid until the call returns, and is not written to. What
 *   an answer points to is a constant, or lies in the message, or in memory that host->allocate gave in the same call.
 * - Nothing is thrown and no longjmp goes across the interface.
 * - Structs that begin with a size grow at their end only: a member is there if the size says so. Each side sets the
 *   size of what it makes, and reads no further than the size of what it gets.
 * - A library crashes the process that it is loaded into. One that breaks these rules does so sooner or later.
 */
#ifndef HAREBELL_DECODER_H
#define HAREBELL_DECODER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this interface. It changes when something is not as it was; what is only added does not change it. */
#define HAREBELL_DECODER_ABI 1

/* What Harebell takes at most. */
#define HAREBELL_MAXIMUM_NOTIFICATIONS 500  /* in one answer */
#define HAREBELL_MAXIMUM_TEXT 65536         /* bytes of one text in an answer */
#define HAREBELL_MAXIMUM_MEMORY 4194304     /* bytes that host->allocate gives in one call */
#define HAREBELL_MAXIMUM_SECONDS 31536000   /* of an answer HAREBELL_LATER: a year */

/* Bytes, without a NUL at the end. Where bytes is NULL there is no text, which is something else than an empty one. */
struct harebell_text {
    const uint8_t *bytes;
    size_t size;
};

/* What the host does for the library, while a call lasts. */
struct harebell_host {
    size_t size;
    /* The first argument of the functions. */
    void *context;
    /* Memory that is valid until the call returns, for any type of object; NULL where there is no more. */
    void *(*allocate)(void *context, size_t size);
    /*
     * Reports what is wrong with the options, or anything else that the decoder cannot work with. Only create may call
     * it. The message is UTF-8 for a person, and has no secret in it.
     */
    void (*report)(void *context, struct harebell_text message);
};

enum harebell_value_kind {
    HAREBELL_VALUE_OTHER = 0, /* a table, an array, a decimal or nothing */
    HAREBELL_VALUE_TEXT = 1,
    HAREBELL_VALUE_INTEGER = 2,
    HAREBELL_VALUE_NUMBER = 3,
    HAREBELL_VALUE_BOOLEAN = 4
};

/* An AMQP header. It never grows. */
struct harebell_header {
    struct harebell_text name;
    uint32_t kind; /* of enum harebell_value_kind: which of the members below has the value */
    uint32_t boolean;
    struct harebell_text text;
    int64_t integer;
    double number;
};

/* A message. */
struct harebell_delivery {
    size_t size;
    struct harebell_text body;
    struct harebell_text content_type;
    struct harebell_text content_encoding;
    struct harebell_text message_id;
    struct harebell_text correlation_id;
    struct harebell_text reply_to;
    struct harebell_text type;
    struct harebell_text app_id;
    struct harebell_text expiration; /* of the message in its queue: milliseconds, as digits */
    struct harebell_text exchange;
    struct harebell_text routing_key;
    const struct harebell_header *headers;
    size_t header_count;
    uint64_t timestamp; /* seconds since 1970 UTC, if has_timestamp is 1 */
    uint32_t has_timestamp;
    uint32_t redelivered; /* 1 if the broker may have delivered it before */
    int64_t now;          /* milliseconds since 1970 UTC, for formats that say how long from now */
};

/*
 * A notification, by Apple's names. Set all of it to zero first: a text that is NULL is a header that is not sent.
 * Harebell holds each to what APNs takes; one that is wrong makes the whole message one to reject.
 */
struct harebell_notification {
    struct harebell_text payload;      /* a JSON object, which goes out as it stands; its strings are UTF-8 */
    struct harebell_text device_token; /* hexadecimal digits; either this or channel_id */
    struct harebell_text channel_id;   /* apns-channel-id, of a broadcast */
    struct harebell_text topic;        /* apns-topic; where it is NULL, the configuration's only app */
    struct harebell_text push_type;    /* apns-push-type; where it is NULL, what the payload tells for certain */
    struct harebell_text id;           /* apns-id; where it is NULL, made of the message id, or of the answer's key */
    struct harebell_text collapse_id;  /* apns-collapse-id */
    struct harebell_text environment;  /* production or development; where it is NULL, the app's */
    int64_t expiration;                /* apns-expiration, in seconds since 1970 UTC, if has_expiration is 1 */
    uint32_t has_expiration;
    uint32_t priority; /* apns-priority: 1, 5 or 10; 0 for none */
};

enum harebell_answer_kind {
    HAREBELL_NO_ANSWER = 0, /* as it comes from the host; it is taken for a mistake of the library */
    HAREBELL_REQUEST = 1,   /* notifications, at least one */
    HAREBELL_IGNORE = 2,    /* acknowledged without a result */
    HAREBELL_REJECT = 3,    /* an invalid result with the detail, and a dead letter */
    HAREBELL_LATER = 4      /* decoded again in so many seconds */
};

/* What a message becomes. The host sets all of it to zero but the size. */
struct harebell_answer {
    size_t size;
    uint32_t kind; /* of enum harebell_answer_kind */
    uint32_t reserved;
    /* UTF-8: why it is ignored, or what is wrong with it and where; no device token and no payload. */
    struct harebell_text detail;
    /* What the format itself calls the message, for one without a message id. */
    struct harebell_text key;
    uint64_t seconds;
    const struct harebell_notification *notifications;
    size_t notification_count;
    size_t notification_size; /* sizeof(struct harebell_notification) */
};

/* A format: constant, and valid for as long as the process lives. */
struct harebell_format {
    size_t size;  /* sizeof(struct harebell_format) */
    uint32_t abi; /* HAREBELL_DECODER_ABI */
    uint32_t reserved;
    struct harebell_text name;    /* UTF-8, 1 to 64 bytes */
    struct harebell_text version; /* UTF-8, 1 to 64 bytes: three numbers with dots between them */

    /*
     * Makes a decoder. The options are what the configuration has under options: the text of a JSON object. NULL, or
     * anything reported to the host, means that there is none. It may be called from any thread, and from several at a
     * time; `harebell check` calls it as well.
     */
    void *(*create)(const struct harebell_host *host, struct harebell_text options);
    /* One decoder is asked by one thread at a time; several decoders by several. */
    void (*decode)(void *decoder, const struct harebell_host *host, const struct harebell_delivery *delivery,
                   struct harebell_answer *answer);
    /* Called once for each decoder that create made. */
    void (*destroy)(void *decoder);
};

/*
 * The function that a library exports.
 *
 * abi is the number of the host's interface. The answer is the library's format; or NULL where it does not know that
 * interface, with a sentence for a person in *error: a constant, with a NUL at its end.
 */
const struct harebell_format *harebell_decoder(uint32_t abi, const char **error);

typedef const struct harebell_format *(*harebell_decoder_function)(uint32_t abi, const char **error);

#ifdef __cplusplus
}
#endif

#endif
