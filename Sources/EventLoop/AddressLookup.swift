import CLinux
package import Core
import Glibc

/// getaddrinfo, in Swift's words.
package enum AddressLookup {
    /// An answer of the resolver: at least one address, or why there is none.
    package typealias Answer = Result<[SocketAddress], TransportError>

    /// Asks the system's resolver; may block for as long as its configuration allows (`resolv.conf`).
    package static func system(_ endpoint: Endpoint) -> Answer {
        // Addresses of a family that this host has none of would only cost an attempt each.
        look(up: endpoint, flags: AI_ADDRCONFIG | AI_NUMERICSERV)
    }

    /// The address that stands in `endpoint` already; `nil` when its host is a name. Never blocks.
    static func numeric(_ endpoint: Endpoint) -> SocketAddress? {
        guard case .success(let addresses) = look(up: endpoint, flags: AI_NUMERICHOST | AI_NUMERICSERV) else {
            return nil
        }
        return addresses.first
    }

    private static func look(up endpoint: Endpoint, flags: Int32) -> Answer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = flags
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        guard result == 0 else { return .failure(.notResolved(endpoint, result)) }
        defer { unsafe freeaddrinfo(list) }

        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let current = unsafe entry {
            if let address = unsafe current.pointee.ai_addr {
                unsafe addresses.append(SocketAddress(copying: address, length: current.pointee.ai_addrlen))
            }
            unsafe entry = unsafe current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.notResolved(endpoint, EAI_NONAME)) : .success(addresses)
    }
}
