import CLinux
import Core
import Glibc

extension TransportError {
    init(_ code: String, _ message: String, isTransient: Bool = true) {
        self.init(Code(rawValue: code), message, isTransient: isTransient)
    }

    init(_ attempt: String, _ error: SystemError) {
        self.init(error.name, "\(attempt): \(error.explanation)")
    }

    /// - Parameter address: The address of the endpoint that was tried.
    static func notConnected(_ endpoint: Endpoint, _ address: SocketAddress, _ error: SystemError) -> TransportError {
        TransportError("cannot connect to \(name(endpoint, at: address))", error)
    }

    static func connectTimedOut(_ endpoint: Endpoint, _ address: SocketAddress, after time: Duration) -> TransportError
    {
        TransportError("ETIMEDOUT", "cannot connect to \(name(endpoint, at: address)): no answer within \(time)")
    }

    /// An open connection broke.
    static func lost(_ endpoint: Endpoint, _ error: SystemError) -> TransportError {
        TransportError("lost the connection to \(endpoint)", error)
    }

    /// - Parameter result: What getaddrinfo returned, one of the `EAI_` numbers except `EAI_SYSTEM`.
    static func notResolved(_ endpoint: Endpoint, _ result: Int32) -> TransportError {
        let explanation = unsafe String(cString: gai_strerror(result))
        return TransportError(addressInfoName(result), "cannot resolve \(endpoint.host): \(explanation)")
    }

    /// getaddrinfo failed because of a system call.
    static func notResolved(_ endpoint: Endpoint, _ error: SystemError) -> TransportError {
        TransportError("cannot resolve \(endpoint.host)", error)
    }

    private static func name(_ endpoint: Endpoint, at address: SocketAddress) -> String {
        let numeric = address.endpoint
        return numeric == endpoint ? "\(endpoint)" : "\(endpoint) at \(numeric.host)"
    }

    /// The constant's name in `netdb.h`.
    private static func addressInfoName(_ result: Int32) -> String {
        switch result {
        case EAI_AGAIN: "EAI_AGAIN"
        case EAI_BADFLAGS: "EAI_BADFLAGS"
        case EAI_FAIL: "EAI_FAIL"
        case EAI_FAMILY: "EAI_FAMILY"
        case EAI_MEMORY: "EAI_MEMORY"
        case EAI_NONAME: "EAI_NONAME"
        case EAI_SERVICE: "EAI_SERVICE"
        case EAI_SOCKTYPE: "EAI_SOCKTYPE"
        case Int32(HAREBELL_EAI_NODATA): "EAI_NODATA"
        case Int32(HAREBELL_EAI_ADDRFAMILY): "EAI_ADDRFAMILY"
        default: "EAI \(result)"
        }
    }
}
