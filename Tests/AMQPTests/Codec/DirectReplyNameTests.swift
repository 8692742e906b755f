import Core
import Testing

@testable import AMQP

@Suite("Names of direct replies")
struct DirectReplyNameTests {
    private static let prefix = "amq.rabbitmq.reply-to."
    /// RabbitMQ 3.10.8 made it.
    private static let real = "g1h2AA9yZXBseUAxMjk2NDE1ODgAAAKxAAAAAGsErUk=.0xqiZjzoE9QHp2X62rCtYw=="

    private static func origin(_ suffix: String) -> DirectReplyName.Origin? {
        DirectReplyName(ArraySlice("\(prefix)\(suffix)".utf8))?.origin
    }

    /// An Erlang process identifier of the kind `tag`, with its node's name as the kind of atom `atom`.
    private static func identifier(
        tag: UInt8 = 88, atom: UInt8 = 118, node: String = "reply@1", number: UInt32 = 1, serial: UInt32 = 0
    ) -> String {
        let length = UInt8(node.utf8.count)
        var bytes: [UInt8] =
            [131, tag, atom] + (atom == 100 || atom == 118 ? [0, length] : [length]) + Array(node.utf8)
        for value in [number, serial] {
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return Base64.standard.encode(bytes + Array(repeating: 7, count: tag == 88 ? 4 : 1))
    }

    @Test("A name that a broker made is read, and so is every form of an Erlang process identifier")
    func wellFormed() {
        #expect(Self.origin(Self.real) != nil)
        for tag in [88, 103] as [UInt8] {
            for atom in [100, 115, 118, 119] as [UInt8] {
                #expect(Self.origin("\(Self.identifier(tag: tag, atom: atom)).AAAA") != nil)
            }
        }
    }

    @Test(
        "What no broker made is not a name",
        arguments: [
            "abc000.def", "", ".", "AAAA.AAAA", "\(real).x", String(real.dropLast(26)), "\(real.prefix(44)).",
            "\(real.prefix(44)).!", "\(identifier(tag: 90)).AAAA", "\(identifier(atom: 101)).AAAA",
            "\(identifier(node: "")).AAAA", "g1g=.AAAA", "gw==.AAAA",
            // One byte too many, and one too few.
            Base64.standard.encode((Base64.standard.decode(identifier()) ?? []) + [0]) + ".AAAA",
            Base64.standard.encode((Base64.standard.decode(identifier()) ?? []).dropLast()) + ".AAAA",
        ])
    func malformed(suffix: String) {
        #expect(Self.origin(suffix) == nil)
    }

    @Test("Two names have one origin if their nodes are equal and their numbers small, whatever their keys are")
    func origins() {
        let known = Self.origin("\(Self.identifier()).AAAA")
        #expect(known == Self.origin("\(Self.identifier(number: 0x7FFF, serial: 0x1FFF)).BBBB"))
        #expect(known != Self.origin("\(Self.identifier(node: "reply@2")).AAAA"))
        #expect(known != Self.origin("\(Self.identifier(atom: 100)).AAAA"))
        let large = Self.identifier(number: 0x8000)
        #expect(Self.origin("\(large).AAAA") == Self.origin("\(large).BBBB"))
        #expect(Self.origin("\(large).AAAA") != Self.origin("\(Self.identifier(number: 0x8001)).AAAA"))
        #expect(Self.origin("\(large).AAAA") != known)
        #expect(Self.origin("\(Self.identifier(serial: 0x2000)).AAAA") != known)
    }

    @Test("Every name with the prefix is a direct reply, and nothing else is")
    func prefixes() {
        for name in ["amq.rabbitmq.reply-to", "amq.rabbitmq.reply-to.x", "amq.rabbitmq.reply-tox"] {
            #expect(DirectReplyName.isPrefix(of: ArraySlice(name.utf8)))
        }
        for name in ["", "amq.rabbitmq.reply-t", "replies", "xamq.rabbitmq.reply-to.x"] {
            #expect(!DirectReplyName.isPrefix(of: ArraySlice(name.utf8)))
        }
    }
}
