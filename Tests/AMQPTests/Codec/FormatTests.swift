import AMQP
import Core
import TestSupport
import Testing

@Suite("Addresses, tables and properties")
struct FormatTests {
    @Test("A URI is parsed into host, port, credentials and virtual host")
    func addresses() throws {
        var expected = BrokerAddress(endpoint: Endpoint(host: "rabbit.example", port: 1234))
        (expected.user, expected.password) = ("u@x", "p:w:")
        #expect(try BrokerAddress("amqp://u%40x:p%3Aw:@rabbit.example:1234/%2f") == expected)
        #expect(try BrokerAddress("amqp://h") == BrokerAddress(endpoint: Endpoint(host: "h", port: 5672)))
        #expect(try "\(BrokerAddress("amqps://h"))" == "amqps://guest@h:5671, virtual host \"/\"")
        #expect(try BrokerAddress("amqp://h/").virtualHost == "")
        #expect(try BrokerAddress("amqp://h/push").virtualHost == "push")
        #expect(try BrokerAddress("amqp://[::1]:1").endpoint == Endpoint(host: "::1", port: 1))
        #expect(try "\(BrokerAddress("amqp://user@"))" == "amqp://user@localhost:5672, virtual host \"/\"")
        #expect(try BrokerAddress("amqp://h").mechanism == .plain)
        let external = try BrokerAddress("amqps://h/v?auth_mechanism=external")
        #expect(external.mechanism == .external && external.virtualHost == "v")
    }

    @Test(
        "A wrong URI is refused with the name of the wrong part, and without its password",
        arguments: [
            ("http://u:secret@h", "scheme"), ("amqp://u:secret@h:0", "port"), ("amqp://u:secret@h:99999", "port"),
            ("amqp://u:secret@h:+5672", "port"),
            ("amqp://u:secret@h/a/b", "virtual host"), ("amqp://u:secret%zz@h", "password"),
            ("amqp://u:secret@[::1", "bracket"), ("amqp://u:secret@h/%ff", "virtual host"),
            ("amqp://u:secret@h?heartbeat=1", "query"), ("amqp://u:secret@h?auth_mechanism=secret", "query"),
            ("amqp://u:secret@h#secret", "fragment"),
        ])
    func wrongAddresses(uri: String, part: String) {
        let error = #expect(throws: AMQPError.self) { try BrokerAddress(uri) }
        #expect(error?.code == .badAddress)
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") == false)
    }

    @Test("An address shows no password in its description or dump")
    func secrecy() throws {
        let address = try BrokerAddress("amqp://u:secret@h")
        var dumped = ""
        dump(address, to: &dumped)
        #expect(!"\(address) \(String(reflecting: address)) \(dumped)".contains("secret"))
    }

    @Test("16 levels of nesting are read, 17 are not", arguments: [false, true])
    func depth(asTables: Bool) throws {
        func nested(_ levels: Int) throws -> [UInt8] {
            var value = FieldValue.void
            for _ in 1..<levels { value = asTables ? .table(["a": value]) : .array([value]) }
            return try (["a": value] as FieldTable).encoded()
        }
        #expect(try FieldTable(decoding: nested(16)[...]).entries.count == 1)
        #expect(throws: AMQPError.self) { try FieldTable(decoding: nested(17)[...]) }
    }

    @Test("A table keeps its order when an entry is replaced, and loses all entries of a removed name")
    func editing() {
        var table: FieldTable = ["a": .int32(1), "b": .int32(2), "a": .int32(3)]
        #expect(table["a"] == .int32(3))
        table["a"] = .int32(4)
        #expect(table == ["a": .int32(4), "b": .int32(2)])
        table["a"] = nil
        #expect(table == ["b": .int32(2)])
    }
}
