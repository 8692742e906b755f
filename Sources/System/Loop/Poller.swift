import CLinux
import Core
import Glibc

/// An epoll instance: reports which descriptors are ready.
///
/// Level-triggered: the next wait reports remaining readiness again.
@safe
struct Poller: ~Copyable {
    private let descriptor: Descriptor
    private let events: UnsafeMutablePointer<epoll_event>

    init() throws(SystemError) {
        let number = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard number >= 0 else { throw .last }
        descriptor = Descriptor(adopting: number)
        unsafe events = .allocate(capacity: EventLoop.eventsPerTurn)
        unsafe events.initialize(repeating: epoll_event(), count: EventLoop.eventsPerTurn)
    }

    deinit {
        unsafe events.deallocate()
    }

    borrowing func control(
        _ operation: Int32, _ watched: Int32, key: UInt64, interest: Readiness
    ) throws(SystemError) {
        var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: key))
        guard unsafe epoll_ctl(descriptor.number, operation, watched, &event) == 0 else { throw .last }
    }

    /// Waits for events, at most `milliseconds`.
    ///
    /// - Returns: The number of events; 0 also if a signal interrupted the wait.
    borrowing func wait(milliseconds: Int32) throws(SystemError) -> Int {
        let count = unsafe epoll_wait(descriptor.number, events, Int32(EventLoop.eventsPerTurn), milliseconds)
        if count >= 0 { return Int(count) }
        guard errno == EINTR else { throw .last }
        return 0
    }

    /// An event of the last wait: the key of its descriptor, and its readiness.
    borrowing func event(_ index: Int) -> (key: UInt64, readiness: Readiness) {
        precondition(index >= 0 && index < EventLoop.eventsPerTurn, "an event of the last wait")
        let event = unsafe events[index]
        return unsafe (event.data.u64, Readiness(rawValue: event.events))
    }
}
