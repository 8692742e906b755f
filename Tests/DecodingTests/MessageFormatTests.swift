import Core
import TestSupport
import Testing

@testable import Decoding

@Suite("The message format page")
struct MessageFormatTests {
    /// The content between JSON fences.
    private func bodies() throws -> [String] {
        try DocumentationPage("produce/requests.md").text.components(between: "```json\n", and: "\n```")
    }

    private func delivery(_ body: String) -> Delivery {
        var layout = Delivery.Layout()
        let type = Array("application/json".utf8)
        layout.contentType = Delivery.Field(0..<type.count)
        let storage = type + body.utf8
        layout.body = Delivery.Field(type.count..<storage.count)
        return Delivery(epoch: 1, tag: 1, redelivered: false, queue: 0, storage: storage, layout: layout, headers: [])
    }

    @Test("Each example request is valid, and follows Apple's key tables")
    func requests() throws {
        let bodies = try bodies()
        #expect(bodies.count == 6)
        var types: [PushType] = []
        for body in bodies {
            guard case .request(let request) = AutoDecoder().decode(delivery(body), at: WallTime(milliseconds: 0))
            else {
                Issue.record("no request: \(body)")
                continue
            }
            let first = request.notifications[0]
            types.append(first.pushType)
            var isBroadcast = false
            if case .channel = first.target { isBroadcast = true }
            let findings = PayloadCheck.findings(
                in: first.payload, for: first.pushType, isBroadcast: isBroadcast)
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
