import Core
import TestSupport
import Testing

@testable import Commands
@testable import Decoding

@Suite("The message format page")
struct MessageFormatTests {
    /// The content between JSON fences.
    private func bodies() throws -> [String] {
        try DocumentationPage("produce/requests.md").text.components(between: "```json\n", and: "\n```")
    }

    @Test("Each example request is valid, and follows Apple's key tables")
    func requests() throws {
        let bodies = try bodies()
        #expect(bodies.count == 6)
        var types: [PushType] = []
        for body in bodies {
            let request = try DecoderSample(body, decoder: "auto").request()
            let first = request.notifications[0]
            types.append(first.pushType)
            var isBroadcast = false
            if case .channel = first.target { isBroadcast = true }
            let findings = PayloadCheck.findings(in: first.payload, for: first.pushType, isBroadcast: isBroadcast)
            #expect(findings.texts == [], "\(body)")
            #expect(request.notifications.count == (body.contains("device-tokens") ? 2 : 1))
        }
        #expect(types == [.alert, .background, .alert, .voip, .liveactivity, .liveactivity])
    }
}

extension String {
    /// Every text between two marks, in order.
    fileprivate func components(between start: String, and end: String) -> [String] {
        split(separator: start).dropFirst().compactMap { part in
            part.firstRange(of: end).map { String(part[..<$0.lowerBound]) }
        }
    }
}
