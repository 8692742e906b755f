import CHarebellDecoder
package import Core

/// A decoder created by a library. Only one thread at a time calls it.
package final class LibraryInstance: Sendable {
    private let library: DecoderLibrary
    /// The library's pointer, as an integer. Only the thread that holds the lock converts it to a pointer.
    private let decoder: Guarded<UInt>

    /// - Parameter options: the text of a JSON object.
    /// - Throws: the library's problems with the options.
    package init(_ library: DecoderLibrary, options: String) throws(LibraryError) {
        let call = LibraryCall()
        var text = Array(options.utf8)
        let decoder = unsafe call.lend { host in
            unsafe text.withUnsafeMutableBufferPointer { bytes in
                unsafe library.format.pointee.create(
                    host, harebell_text(bytes: UnsafePointer(bytes.baseAddress), size: bytes.count))
            }
        }
        guard let decoder = unsafe decoder, call.reports.isEmpty else {
            if let decoder = unsafe decoder { unsafe library.format.pointee.destroy(decoder) }
            throw LibraryError(
                call.reports.isEmpty ? ["the library refuses these options without a reason"] : call.reports)
        }
        self.library = library
        self.decoder = Guarded(UInt(bitPattern: decoder))
    }

    deinit {
        decoder.withLock { address in
            unsafe library.format.pointee.destroy(UnsafeMutableRawPointer(bitPattern: address))
        }
    }

    /// - Throws: an error if the result violates the interface.
    package func decode(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        try decoder.withLock { (address) throws(DecodingFailure) -> Decoded in
            let call = LibraryCall()
            let format = unsafe library.format
            let decoder = unsafe UnsafeMutableRawPointer(bitPattern: address)
            let response = unsafe LibraryView(delivery, at: now).lend { view, storage in
                var response = unsafe harebell_answer()
                unsafe response.size = MemoryLayout<harebell_answer>.size
                unsafe call.lend { host in unsafe format.pointee.decode(decoder, host, view, &response) }
                // The result refers to the call's memory.
                return withExtendedLifetime(call) {
                    Result { () throws(DecodingFailure) in
                        unsafe try LibraryReader(delivery, at: storage).read(response)
                    }
                }
            }
            return try response.get()
        }
    }
}
