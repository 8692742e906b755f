import CLinux
package import Core

/// The readiness of a descriptor, as epoll's bits; errors and the end of both directions are always reported.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
}

/// Called in the reading phase of a turn. May register and deregister anything, including this descriptor.
package typealias ReadinessHandler = (_ readiness: Readiness, _ now: Moment) -> Void

/// A descriptor's registration in a loop, from ``EventLoop/register(descriptor:interest:handler:)`` to
/// ``EventLoop/deregister(_:)``.
package struct Registration {
    let descriptor: Int32
    /// Returned by the poller with an event; unique in the loop.
    let key: UInt64
}
