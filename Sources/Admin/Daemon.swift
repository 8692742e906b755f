import CMicrohttpd
import Core
import Glibc
import System

/// libmicrohttpd's daemon: HTTP/1.1 on sockets that it is given.
///
/// It uses no threads, listening sockets or timeouts, and calls back only inside calls made here. Destroying it closes
/// all connections.
@safe
struct Daemon: ~Copyable {
    private let pointer: OpaquePointer

    /// - Parameters:
    ///   - context: passed to the callbacks; must outlive the daemon.
    ///   - maximumConnections: further sockets are closed when they are added.
    ///   - maximumMemory: per connection, in bytes, for its request and the head of its response.
    /// - Throws: if the process is out of descriptors or memory; libmicrohttpd needs an epoll instance and an eventfd.
    init(
        context: UnsafeMutableRawPointer, onRequest: @escaping MHD_AccessHandlerCallback,
        onConnection: @escaping MHD_NotifyConnectionCallback, maximumConnections: Int, maximumMemory: Int
    ) throws(EventLoopError) {
        errno = 0
        guard
            let new = unsafe harebell_mhd_start(
                onRequest, onConnection, context, UInt32(maximumConnections), maximumMemory)
        else { throw EventLoopError("cannot start the HTTP server", errno: errno) }
        unsafe pointer = new
    }

    deinit {
        unsafe MHD_stop_daemon(pointer)
    }

    /// Readable when ``run()`` has work.
    var descriptor: Int32 {
        unsafe harebell_mhd_epoll(pointer)
    }

    /// Takes ownership of a connected socket.
    func add(_ socket: Int32) {
        // It closes sockets that it does not accept.
        _ = unsafe harebell_mhd_add(pointer, socket)
    }

    /// Performs all work that does not block.
    func run() {
        _ = unsafe MHD_run(pointer)
    }

    /// Whether ``run()`` has more work immediately, even if its descriptor is not readable.
    var isBusy: Bool {
        var milliseconds: UInt64 = 0
        return unsafe MHD_get_timeout(pointer, &milliseconds) == .YES && milliseconds == 0
    }
}

/// One of the daemon's connections, inside a callback.
@safe
struct DaemonConnection {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    var descriptor: Int32 {
        unsafe harebell_mhd_descriptor(pointer)
    }

    /// The number that the daemon keeps as its context.
    var number: UInt32 {
        unsafe Self.number(harebell_mhd_context(pointer))
    }

    static func number(_ context: UnsafeMutableRawPointer?) -> UInt32 {
        UInt32(UInt(bitPattern: context))
    }

    /// All values of a header of the request, one per line.
    ///
    /// - Parameter name: in lower case.
    func headers(_ name: String) -> [String] {
        values(.HEADER_KIND).filter { $0.name.lowercased() == name }.map(\.value)
    }

    /// The values of one kind, decoded, in order; a query parameter without `=` has an empty value.
    func values(_ kind: MHD_ValueKind) -> [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        unsafe withUnsafeMutablePointer(to: &found) { found in
            _ = unsafe MHD_get_connection_values(
                pointer, kind,
                { found, _, name, value in
                    guard let found = unsafe found?.assumingMemoryBound(to: [(name: String, value: String)].self),
                        let name = unsafe name
                    else { return .YES }
                    let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
                    unsafe found.pointee.append((String(cString: name), text))
                    return .YES
                }, found)
        }
        return found
    }

    /// Stops reading and responding until ``resume()``.
    func suspend() {
        unsafe MHD_suspend_connection(pointer)
    }

    /// Passes the request to the handler again.
    func resume() {
        unsafe MHD_resume_connection(pointer)
    }

    /// - Returns: Whether memory was available.
    func respond(_ status: UInt32, _ headers: [(StaticString, String)], _ body: [UInt8]) -> Bool {
        let response = unsafe body.withUnsafeBytes {
            unsafe MHD_create_response_from_buffer(
                $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let response = unsafe response else { return false }
        defer { unsafe MHD_destroy_response(response) }
        for (name, value) in headers {
            let name = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
            guard unsafe MHD_add_response_header(response, name, value) == .YES else { return false }
        }
        return unsafe MHD_queue_response(pointer, status, response) == .YES
    }
}
