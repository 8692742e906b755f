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

    /// The address that stands in `endpoint`, where nothing but an address may stand.
    static func digits(_ endpoint: Endpoint) throws(SystemError) -> SocketAddress {
        if let address = numeric(endpoint) { return address }
        // The zone of a link-local address (`fe80::1%eth0`) is looked up through a socket.
        throw shortage(0) ?? SystemError(number: EINVAL)
    }

    private static func look(up endpoint: Endpoint, flags: Int32) -> Answer {
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
            if let address = unsafe current.pointee.ai_addr {
                unsafe addresses.append(SocketAddress(copying: address, length: current.pointee.ai_addrlen))
            }
            unsafe entry = unsafe current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.notResolved(endpoint, EAI_NONAME)) : .success(addresses)
    }

    /// Whether a look-up failed for want of descriptors: glibc then says `EAI_NONAME`, as for a name that does not
    /// exist, because it could open neither `/etc/hosts` nor a socket.
    ///
    /// - Parameter number: what the look-up left in `errno`, which is not always the error that made it fail.
    private static func shortage(_ number: Int32) -> SystemError? {
        if number == EMFILE || number == ENFILE { return SystemError(number: number) }
        do throws(SystemError) {
            _ = try EventDescriptor(.byLoop)
            return nil
        } catch {
            return error
        }
    }
}
