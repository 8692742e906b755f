import COpenSSL

/// An X.509 extension by object identifier, for extensions without a name in OpenSSL.
package struct X509Extension: Sendable, Equatable {
    /// In dotted decimal notation.
    package var identifier: String
    /// The content of the extension's OCTET STRING: a value in DER.
    package var value: [UInt8]

    package init(identifier: String, value: [UInt8]) {
        self.identifier = identifier
        self.value = value
    }

    static func isPresent(_ identifier: String, in certificate: OpaquePointer) -> Bool {
        unsafe index(of: identifier, in: certificate, after: -1) != nil
    }

    /// - Returns: `nil` if it is missing or duplicated, which RFC 5280 section 4.2 forbids.
    static func value(of identifier: String, in certificate: OpaquePointer) -> [UInt8]? {
        guard
            let index = unsafe index(of: identifier, in: certificate, after: -1),
            unsafe Self.index(of: identifier, in: certificate, after: index) == nil,
            let string = unsafe X509_EXTENSION_get_data(X509_get_ext(certificate, index))
        else { return nil }
        return unsafe Array(
            UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
    }

    private static func index(of identifier: String, in certificate: OpaquePointer, after last: Int32) -> Int32? {
        let object = Self.object(identifier)
        let index = unsafe X509_get_ext_by_OBJ(certificate, object.pointer, last)
        return index >= 0 ? index : nil
    }

    private static func object(_ identifier: String) -> Owned {
        guard let object = unsafe Owned(OBJ_txt2obj(identifier, 1), { unsafe ASN1_OBJECT_free($0) }) else {
            preconditionFailure("\(identifier) is not an object identifier")
        }
        return object
    }

    /// Adds it to an `X509` as not critical.
    func add(to certificate: OpaquePointer) {
        let object = Self.object(identifier)
        let string = unsafe ASN1_OCTET_STRING_new()
        let isFilled = unsafe ASN1_OCTET_STRING_set(string, value, Int32(value.count)) == 1
        let entry = unsafe X509_EXTENSION_create_by_OBJ(nil, object.pointer, 0, string)
        let isAdded = unsafe X509_add_ext(certificate, entry, -1) == 1
        precondition(isFilled && isAdded, "a new certificate takes its extensions")
        unsafe X509_EXTENSION_free(entry)
        unsafe ASN1_OCTET_STRING_free(string)
    }
}
