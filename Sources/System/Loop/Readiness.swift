import CLinux
package import Core

/// What a descriptor is ready for: epoll's own bits.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// Both directions are shut; reported whether asked for or not.
    package static let hangup = Readiness(rawValue: EPOLLHUP.rawValue)
    /// The next call on the descriptor says what is wrong; reported whether asked for or not.
    package static let error = Readiness(rawValue: EPOLLERR.rawValue)
}

/// Who is called when a descriptor is ready.
package protocol ReadinessHandler: AnyObject {
    /// Called in the reading phase of a turn. May register and deregister anything, this descriptor included.
    func ready(_ readiness: Readiness, at now: Moment)
}

/// A descriptor's place in a loop, from ``EventLoop/register(descriptor:handler:interest:)`` to
/// ``EventLoop/deregister(_:)``.
package struct Registration {
    let descriptor: Int32
    /// What the poller hands back with an event; no other registration of the loop has it.
    let key: UInt64
}
