import COpenSSL
package import Core

extension LibraryVersion {
    package static var openSSL: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
