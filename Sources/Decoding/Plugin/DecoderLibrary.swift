import CHarebellDecoder
package import Core
import Glibc
package import System

/// A loaded shared library with a decoder interface. It is never unloaded.
package struct DecoderLibrary: Sendable {
    /// The format's name in the library.
    package let name: String
    /// The address of the library's constant table, which is never freed. As an integer it is sendable.
    private let address: UInt

    /// The maximum length of a name and a version, in bytes.
    private static let longestName = 64
    private static let longestComplaint = 1024

    /// - Parameter path: relative to the working directory, if it is.
    package init(file path: FilePath) throws(Complaint) {
        let file = try TrustedFile.resolve(path)
        guard let handle = unsafe dlopen(file.path, RTLD_NOW | RTLD_LOCAL) else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "cannot load \(file)"
            throw Complaint(reason.replacing(file.path, with: "\(file)"))
        }
        guard let symbol = unsafe dlsym(handle, "harebell_decoder") else {
            throw Complaint("\(path) does not export a function harebell_decoder")
        }
        let entry = unsafe unsafeBitCast(symbol, to: harebell_decoder_function.self)
        let abi = UInt32(HAREBELL_DECODER_ABI)
        var complaint: UnsafePointer<CChar>?
        guard let format = unsafe entry(abi, &complaint) else {
            let reason = unsafe complaint.map { unsafe Self.text($0) } ?? "no reason given"
            throw Complaint("\(path) has no decoder for the interface \(abi): \(reason)")
        }
        let (size, found) = unsafe (format.pointee.size, format.pointee.abi)
        guard found == abi else {
            throw Complaint("\(path) was built for interface \(found), expected \(abi)")
        }
        let least = unsafe MemoryLayout<harebell_format>.size
        guard size >= least else {
            throw Complaint("the table of \(path) has \(size) bytes, expected at least \(least)")
        }
        guard unsafe format.pointee.create != nil, unsafe format.pointee.decode != nil,
            unsafe format.pointee.destroy != nil
        else { throw Complaint("the table of \(path) lacks create, decode or destroy") }
        name = try unsafe Self.name(format.pointee.name, "name", path)
        _ = try unsafe Self.name(format.pointee.version, "version", path)
        address = UInt(bitPattern: format)
    }

    var format: UnsafePointer<harebell_format> {
        guard let format = unsafe UnsafePointer<harebell_format>(bitPattern: address) else {
            preconditionFailure("the table has been read")
        }
        return unsafe format
    }

    private static func name(
        _ text: harebell_text, _ what: String, _ path: FilePath
    ) throws(Complaint) -> String {
        guard let bytes = unsafe text.bytes, unsafe (1...longestName).contains(text.size),
            let name = unsafe String(validating: UnsafeBufferPointer(start: bytes, count: text.size), as: UTF8.self)
        else {
            throw Complaint("the table of \(path) has no \(what) of 1 to \(longestName) bytes of UTF-8")
        }
        return name
    }

    private static func text(_ text: UnsafePointer<CChar>) -> String {
        let size = unsafe strnlen(text, longestComplaint)
        return unsafe text.withMemoryRebound(to: UInt8.self, capacity: size) { bytes in
            unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: size), as: UTF8.self)
        }
    }
}
