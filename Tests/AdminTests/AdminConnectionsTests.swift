import Admin
import Core
import Testing

@Suite("The admin server's connections")
struct AdminConnectionsTests {
    private let start = Instant(nanoseconds: 5)

    @Test("Beyond the limit per address its oldest connection is closed, beyond the total limit the oldest of all")
    func limits() {
        var connections = AdminConnections()
        #expect(connections.opened(1000, from: "other", at: start) == nil)
        for handle in 0..<UInt32(AdminConnections.maximumPerAddress) {
            #expect(connections.opened(handle, from: "one", at: start) == nil)
        }
        #expect(connections.opened(500, from: "one", at: start) == 0)
        #expect(connections.opened(501, from: "one", at: start) == 1)
        for handle in 0..<UInt32(AdminConnections.maximum - AdminConnections.maximumPerAddress - 1) {
            #expect(connections.opened(2000 + handle, from: "address \(handle)", at: start) == nil)
        }
        #expect(connections.opened(3000, from: "last", at: start) == 1000)
        #expect(connections.opened(3001, from: "last", at: start) == 2)
    }

    @Test("A closed connection frees its place, and is not asked to close")
    func closing() {
        var connections = AdminConnections()
        for handle in 0..<UInt32(AdminConnections.maximumPerAddress) {
            _ = connections.opened(handle, from: "one", at: start)
        }
        connections.closed(3)
        connections.closed(0)
        #expect(connections.opened(100, from: "one", at: start) == nil)
        #expect(connections.opened(101, from: "one", at: start) == nil)
        #expect(connections.opened(102, from: "one", at: start) == 1)
        #expect(connections.opened(103, from: "one", at: start) == 2)
        #expect(connections.opened(104, from: "one", at: start) == 4)
    }

    @Test("Each connection has its own deadline, and is reported once")
    func time() {
        var connections = AdminConnections()
        #expect(connections.nextDeadline == nil)
        _ = connections.opened(1, from: "one", at: start)
        _ = connections.opened(2, from: "one", at: start + .seconds(1))
        let end = start + AdminConnections.longest
        #expect(connections.nextDeadline == end)
        #expect(connections.popOverdue(at: Instant(nanoseconds: end.nanoseconds - 1)) == nil)
        #expect(connections.popOverdue(at: end) == 1)
        #expect(connections.popOverdue(at: end) == nil)
        connections.closed(1)
        #expect(connections.nextDeadline == end + .seconds(1))
        #expect(connections.popOverdue(at: .distantFuture) == 2)
        #expect(connections.nextDeadline == nil)
    }
}
