import SimulatedWorld
import TestSupport
import Testing

@Suite("Outages of the broker in the log")
struct BrokerOutageTests {
    @Test("Each connection logs the loss, the cause and the recovery once in each outage")
    func lines() throws {
        let lines = LogLines()
        let world = try World.started(log: lines)
        for round in 1...2 {
            world.isBrokerDown = true
            world.cut(World.broker)
            world.pass(.seconds(120))
            world.isBrokerDown = false
            world.pass(.seconds(60))
            for text in ["connection is lost", "cannot be opened", "is open again"] {
                #expect(lines.all.count { $0.message.contains(text) } == round * 2, "\(text)")
            }
        }
    }
}
