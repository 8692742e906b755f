import CHarebellDecoder
package import Core
import Glibc

/// A decoder created by a library. Only one thread at a time calls it.
package final class LibraryInstance: Sendable {
    private let library: DecoderLibrary
    /// The library's pointer, as an integer. Only the thread that holds the lock converts it to a pointer.
    private let decoder: Guarded<UInt>

    /// - Parameters:
    ///   - options: the text of a JSON object.
    ///   - report: takes the library's problems with the options, which make the result `nil`.
    package init?(_ library: DecoderLibrary, options: String, _ report: (String) -> Void) {
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
            if call.reports.isEmpty { report("the library refuses these options without a reason") }
            call.reports.forEach(report)
            return nil
        }
        self.library = library
        self.decoder = Guarded(UInt(bitPattern: decoder))
    }

    deinit {
        decoder.withLock { address in
            unsafe library.format.pointee.destroy(UnsafeMutableRawPointer(bitPattern: address))
        }
    }

    package func decode(_ delivery: Delivery, at now: WallTime) -> Decoded {
        decoder.withLock { address in
            let call = LibraryCall()
            let format = unsafe library.format
            let decoder = unsafe UnsafeMutableRawPointer(bitPattern: address)
            return unsafe delivery.lend(at: now) { view, storage in
                var response = unsafe harebell_answer()
                unsafe response.size = MemoryLayout<harebell_answer>.size
                unsafe call.lend { host in unsafe format.pointee.decode(decoder, host, view, &response) }
                // The result refers to the call's memory.
                return withExtendedLifetime(call) { unsafe LibraryReader(delivery, at: storage).decoded(response) }
            }
        }
    }
}

/// The host's services for a library during one call: memory until the call returns, and reporting of problems.
@safe
final class LibraryCall {
    private static let maximumReports = 32
    /// Longer messages are truncated, in bytes.
    static let longestText = 512

    private(set) var reports: [String] = []
    private var blocks: [UnsafeMutableRawPointer] = unsafe []
    private var used = 0

    deinit {
        for index in unsafe blocks.indices { unsafe free(blocks[index]) }
    }

    func lend<Result>(_ body: (UnsafePointer<harebell_host>) -> Result) -> Result {
        var host = unsafe harebell_host(
            size: MemoryLayout<harebell_host>.size, context: Unmanaged.passUnretained(self).toOpaque(),
            allocate: { context, size in
                unsafe LibraryCall.of(context).flatMap { unsafe $0.allocate(size) }
            },
            report: { context, message in unsafe LibraryCall.of(context)?.report(message) })
        return withExtendedLifetime(self) { unsafe withUnsafePointer(to: &host) { unsafe body($0) } }
    }

    /// - Returns: `nil` beyond the limit; the memory is aligned for every type.
    func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        guard size >= 0, size <= Int(HAREBELL_MAXIMUM_MEMORY) - used, let block = unsafe malloc(max(size, 1)) else {
            return nil
        }
        used += max(size, 1)
        unsafe blocks.append(block)
        return unsafe block
    }

    /// A library's message. Invalid UTF-8 is replaced, and excess length is truncated.
    static func words(_ text: harebell_text) -> String? {
        guard let bytes = unsafe text.bytes, unsafe text.size > 0 else { return nil }
        let size = unsafe min(text.size, longestText)
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: size), as: UTF8.self)
    }

    private func report(_ message: harebell_text) {
        guard reports.count < Self.maximumReports else { return }
        reports.append(unsafe Self.words(message) ?? "the library reports an error without a reason")
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> LibraryCall? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<LibraryCall>.fromOpaque(context).takeUnretainedValue()
    }
}
