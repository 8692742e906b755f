import TestSupport
import Testing

@Suite("The page of broker faults")
struct FaultPageTests {
    @Test("Each test that the page names exists")
    func tests() throws {
        let named = try NamedTests(of: "internals/broker-faults.md")
        #expect(named.all.count > 60)
        #expect(named.missing == [])
    }
}
