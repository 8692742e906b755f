import COpenSSL
package import Core
import Glibc
package import System

/// The fields of an X.509 certificate (RFC 5280) that this project uses.
package struct Certificate: Sendable, Equatable {
    package var subjectCommonName: String?

    /// The subject's user ID (0.9.2342.19200300.100.1.1): the bundle ID in Apple's certificates for APNs, the topic in
    /// those for MDM.
    package var subjectUID: String?

    package var issuerCommonName: String?

    /// The first moment at which it is valid.
    package var notBefore: WallTime

    /// The last moment at which it is valid.
    package var notAfter: WallTime

    /// DNS names, and IP addresses as text, in the certificate's order.
    package var subjectAlternativeNames: [String]

    /// The content of Apple's extensions.
    package var extensions: ProviderExtensions

    /// Negative once it has expired.
    package func secondsLeft(at now: WallTime) -> Int64 { (notAfter.milliseconds - now.milliseconds) / 1000 }

    /// The first certificate of a PEM file.
    package init(file: FilePath) throws(TLSError) {
        let what = "the certificate file"
        try self.init(pem: File.text(file, what), "\(what) \(file)")
    }

    /// The first certificate of a PEM text that errors call `what`.
    package init(pem: String, _ what: String = "the certificate") throws(TLSError) {
        var first: Certificate?
        try unsafe PEM.forEachCertificate(in: pem, what) { (certificate) throws(TLSError) in
            if first == nil { first = unsafe Certificate(certificate) }
        }
        self = first!
    }

    /// Copies the fields of an `X509`.
    init(_ certificate: OpaquePointer) {
        let subject = unsafe X509_get_subject_name(certificate)
        subjectCommonName = unsafe Self.text(of: NID_commonName, in: subject)
        subjectUID = unsafe Self.text(of: NID_userId, in: subject)
        issuerCommonName = unsafe Self.text(of: NID_commonName, in: X509_get_issuer_name(certificate))
        notBefore = unsafe Self.time(X509_get0_notBefore(certificate))
        notAfter = unsafe Self.time(X509_get0_notAfter(certificate))
        subjectAlternativeNames = unsafe Self.alternativeNames(of: certificate)
        extensions = unsafe ProviderExtensions(of: certificate)
        ErrorQueue.clear()
    }

    private static func text(of attribute: Int32, in name: OpaquePointer?) -> String? {
        let index = unsafe X509_NAME_get_index_by_NID(name, attribute, -1)
        guard index >= 0 else { return nil }
        let value = unsafe X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index))
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&bytes, value)
        guard count >= 0, let bytes = unsafe bytes else { return nil }
        defer { unsafe CRYPTO_free(bytes, #fileID, #line) }
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    /// An unreadable time becomes the epoch, so the certificate counts as expired, as in OpenSSL's own check.
    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> WallTime {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return WallTime(milliseconds: 0) }
        return unsafe WallTime(milliseconds: Int64(timegm(&parts)) * 1000)
    }

    private static func alternativeNames(of certificate: OpaquePointer) -> [String] {
        let extensionValue = unsafe X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil)
        guard
            let names = unsafe Owned(extensionValue.map { OpaquePointer($0) }, { unsafe GENERAL_NAMES_free($0) })
        else { return [] }
        return unsafe (0..<shim_sk_GENERAL_NAME_num(names.pointer)).compactMap { index in
            var type: Int32 = 0
            let value = unsafe GENERAL_NAME_get0_value(shim_sk_GENERAL_NAME_value(names.pointer, index), &type)
            guard type == GEN_DNS || type == GEN_IPADD, let value = unsafe value else { return nil }
            let string = unsafe value.assumingMemoryBound(to: ASN1_STRING.self)
            let bytes = unsafe UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string)))
            return type == GEN_DNS
                ? unsafe String(decoding: bytes, as: UTF8.self) : unsafe address(bytes)
        }
    }

    private static func address(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { room in
            let text = unsafe inet_ntop(family, bytes.baseAddress, room.baseAddress, socklen_t(room.count))
            return unsafe text.map { unsafe String(cString: $0) }
        }
    }
}
