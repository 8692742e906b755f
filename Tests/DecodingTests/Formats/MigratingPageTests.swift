import Core
import Commands
import TestSupport
import Testing

@testable import Decoding

@Suite("The mappings of the migrating page")
struct MigratingPageTests {
    /// The first block of this language in a section of the page.
    private static func block(_ language: String, in section: String) throws -> String {
        let page = try DocumentationPage("start/migrating.md").text
        let section = try #require(page.firstRange(of: "\n## \(section)\n"))
        let start = try #require(page[section.upperBound...].firstRange(of: "\n```\(language)\n"))
        let end = try #require(page[start.upperBound...].firstRange(of: "\n```\n"))
        return String(page[start.upperBound..<end.lowerBound])
    }

    /// The section's message, decoded by its mapping.
    private static func sample(
        _ section: String, decoder: String, headers: [(String, OneOffDelivery.HeaderValue)] = []
    ) throws -> DecoderSample {
        let lines = try block("yaml", in: section)
        try #require(lines.hasPrefix("decoders:\n"))
        return DecoderSample(
            try block("json", in: section), decoder: decoder, decoders: String(lines.dropFirst("decoders:\n".count)),
            headers: headers)
    }

    @Test func `a message of gorush is a notification, and a second entry makes it invalid`() throws {
        var sample = try Self.sample("From gorush", decoder: "gorush")
        let found = try sample.notification()
        #expect(found.hex == DecoderSample.token)
        #expect(string(found.topic) == "com.example.app" && found.pushType == .alert)
        #expect(
            string(found.payload)
                == #"{"aps":{"alert":{"title":"Your order","body":"It is on its way."}, "sound":"default"},"#
                + #""data":{"order": 4711}}"#)
        #expect(PayloadCheck.findings(in: found.payload, for: .alert, isBroadcast: false).texts == [])
        let entry =
            #"{"platform":1,"tokens":["00fc"],"topic":"com.example.app","push_type":"voip","#
            + #""message":"Hi","expiration":1795300000}"#
        sample.body = Array(#"{"notifications":[\#(entry)]}"#.utf8)
        let bare = try sample.notification()
        #expect(bare.pushType == .voip && bare.expiration == 1_795_300_000)
        #expect(string(bare.payload) == #"{"aps":{"alert":{"title":"","body":"Hi"}, "sound":"default"},"data":[]}"#)
        #expect(PayloadCheck.findings(in: bare.payload, for: .alert, isBroadcast: false).texts == [])
        sample.body = Array(#"{"notifications":[\#(entry),\#(entry)]}"#.utf8)
        #expect(try sample.complaint().hasPrefix("not-before (/notifications/1): expected"))
    }

    @Test func `the part for APNs of a message for FCM is a notification, with its payload byte for byte`() throws {
        let sample = try Self.sample(
            "From Firebase Cloud Messaging", decoder: "fcm", headers: [("device-token", .text(DecoderSample.token))])
        let found = try sample.notification()
        #expect(found.hex == DecoderSample.token)
        #expect(string(found.topic) == "com.example.app" && found.pushType == .alert)
        #expect(found.priority == .considerate && string(found.collapseID) == "order-4711")
        #expect(
            string(found.payload)
                == #"{"aps": {"alert": {"title": "Your order", "body": "It is on its way."}}, "order": 4711}"#)
        var bare = sample
        bare.headers = []
        #expect(try bare.complaint().hasPrefix("no target: device-token (header:device-token) found nothing"))
    }
}
