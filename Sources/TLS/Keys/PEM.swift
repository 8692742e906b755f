import COpenSSL
import Core

/// Reads the textual encodings of RFC 7468.
enum PEM {
    /// Passes every certificate in `text` to `body`, in order. Throws unless there is at least one. `what` names the
    /// text in errors (`the certificate file /etc/…`).
    static func forEachCertificate(
        in text: String, _ what: String, _ body: (OpaquePointer) throws(TLSError) -> Void
    ) throws(TLSError) {
        let bytes = Array(text.utf8)
        let source = reader(of: bytes)
        var count = 0
        ErrorQueue.clear()
        while let certificate = unsafe Owned(PEM_read_bio_X509(source.pointer, nil, nil, nil), { unsafe X509_free($0) })
        {
            count += 1
            try unsafe body(certificate.pointer)
        }
        let reason = ErrorQueue.take()
        let atEnd = reason.map { $0.library == ERR_LIB_PEM && $0.reason == PEM_R_NO_START_LINE } ?? true
        guard atEnd else {
            throw TLSError(
                .badPEM, "\(what): certificate number \(count + 1) is damaged (\(reason?.text ?? "unknown"))")
        }
        guard count > 0 else {
            throw TLSError(.badPEM, "\(what): expected a PEM certificate, found \(contents(of: text))")
        }
    }

    /// The first private key in `text`: PKCS#8 (RFC 5958), or the older forms of RSA and EC keys.
    static func privateKey(in text: String, _ what: String) throws(TLSError) -> Owned {
        guard let label = labels(in: text).first(where: { $0.hasSuffix("PRIVATE KEY") }) else {
            throw TLSError(.badPEM, "\(what): expected a PEM key, found \(contents(of: text))")
        }
        let bytes = Array(text.utf8)
        let source = reader(of: bytes)
        ErrorQueue.clear()
        var asked = false
        // Without a callback OpenSSL would wait for the passphrase on the terminal.
        let key = unsafe withUnsafeMutablePointer(to: &asked) { asked in
            unsafe PEM_read_bio_PrivateKey(
                source.pointer, nil,
                { _, _, _, asked in
                    unsafe asked?.assumingMemoryBound(to: Bool.self).pointee = true
                    return -1
                }, asked)
        }
        if let owned = unsafe Owned(key, { unsafe EVP_PKEY_free($0) }) {
            ErrorQueue.clear()
            return owned
        }
        let reason = ErrorQueue.take()?.text ?? "unknown"
        if asked {
            throw TLSError(
                .encryptedKey,
                "\(what) is encrypted with a passphrase: write it without one by `openssl pkey -in KEY -out NEWKEY`")
        }
        throw TLSError(.badPEM, "\(what): its \(label) is damaged (\(reason))")
    }

    /// The labels of the blocks in `text`, in order (`CERTIFICATE`, `PRIVATE KEY` …).
    static func labels(in text: String) -> [Substring] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            guard line.hasPrefix("-----BEGIN "), let end = line.dropFirst(11).firstRange(of: "-----") else {
                return nil
            }
            return line[line.index(line.startIndex, offsetBy: 11)..<end.lowerBound]
        }
    }

    /// A memory BIO with a copy of `bytes`.
    static func reader(of bytes: [UInt8]) -> Owned {
        let source = unsafe Owned(BIO_new(BIO_s_mem()), { unsafe _ = BIO_free($0) })!
        let written = unsafe BIO_write(source.pointer, bytes, Int32(bytes.count))
        precondition(written == bytes.count || bytes.isEmpty, "a memory BIO must accept all bytes")
        return source
    }

    /// Returns as text what `write` puts into a memory BIO.
    static func text(_ write: (OpaquePointer) -> Int32) -> String {
        let sink = unsafe Owned(BIO_new(BIO_s_mem()), { unsafe _ = BIO_free($0) })!
        let done = unsafe write(sink.pointer)
        precondition(done == 1, "writing to memory does not fail")
        let count = unsafe BIO_ctrl_pending(sink.pointer)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { room, filled in
            filled = unsafe Int(BIO_read(sink.pointer, room.baseAddress, Int32(count)))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A private key as unencrypted PKCS#8.
    static func pkcs8(_ key: borrowing Owned) -> String {
        let pointer = unsafe key.pointer
        return unsafe text { unsafe PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil) }
    }

    private static func contents(of text: String) -> String {
        let labels = labels(in: text)
        return labels.isEmpty ? "no PEM block" : "only \(labels.joined(separator: ", "))"
    }
}
