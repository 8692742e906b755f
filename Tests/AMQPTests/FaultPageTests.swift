import TestSupport
import Testing

@Suite("The page of the broker's faults")
struct FaultPageTests {
    @Test("Each test that it names is there")
    func tests() throws {
        let named = try NamedTests(of: "internals/broker-faults.md")
        #expect(named.all.count > 60)
        #expect(named.missing == [])
    }
}
