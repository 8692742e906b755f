import CLinux
package import Core
import Glibc

package enum AddressLookup {
    /// The result of a lookup: at least one address, or the error.
    package typealias Response = Result<[SocketAddress], TransportError>

    /// Asks the system's resolver; may block as long as its configuration permits (`resolv.conf`).
    package static func system(_ endpoint: Endpoint) -> Response {
        // Omits addresses of a family that this host does not have: each would cost a failed attempt.
        look(up: endpoint, flags: AI_ADDRCONFIG | AI_NUMERICSERV)
    }

    /// The address in `endpoint`; `nil` if its host is a name. Never blocks.
    static func numeric(_ endpoint: Endpoint) -> SocketAddress? {
        guard case .success(let addresses) = look(up: endpoint, flags: AI_NUMERICHOST | AI_NUMERICSERV) else {
            return nil
        }
        return addresses.first
    }

    /// The address in `endpoint`, whose host must not be a name.
    static func digits(_ endpoint: Endpoint) throws(SystemError) -> SocketAddress {
        if let address = numeric(endpoint) { return address }
        // Parsing the zone of a link-local address (`fe80::1%eth0`) requires a socket.
        throw shortage(0) ?? SystemError(number: EINVAL)
    }

    private static func look(up endpoint: Endpoint, flags: Int32) -> Response {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = flags
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        errno = 0
        let result = unsafe getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        let number = errno
        guard result == 0 else {
            if result == EAI_SYSTEM { return .failure(.notResolved(endpoint, SystemError(number: number))) }
            if let shortage = shortage(number) { return .failure(.notResolved(endpoint, shortage)) }
            return .failure(.notResolved(endpoint, result))
        }
        defer { unsafe freeaddrinfo(list) }

        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let current = unsafe entry {
            if let address = unsafe current.pointee.ai_addr, let copy = unsafe SocketAddress(address) {
                addresses.append(copy)
            }
            unsafe entry = unsafe current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.notResolved(endpoint, EAI_NONAME)) : .success(addresses)
    }

    /// Whether a lookup failed because of a lack of descriptors. glibc then reports `EAI_NONAME`, as for an unknown
    /// name, because it can open neither `/etc/hosts` nor a socket.
    ///
    /// - Parameter number: `errno` after the lookup, which is not always the cause of the failure.
    static func shortage(_ number: Int32) -> SystemError? {
        if number == EMFILE || number == ENFILE { return SystemError(number: number) }
        do throws(SystemError) {
            _ = try EventDescriptor()
            return nil
        } catch {
            return error
        }
    }
}
