import Core
import TestSupport
import Testing

@testable import Configuration
@testable import Decoding

@Suite("The pages about requests and payloads")
struct DocumentationTests {
    private let requests: DocumentationPage
    private let payload: DocumentationPage

    init() throws {
        requests = try DocumentationPage("produce/requests.md")
        payload = try DocumentationPage("produce/payload.md")
    }

    @Test("It has every push type with the rules of the code")
    func pushTypes() {
        let expected = PushType.allCases.map { type in
            let rules = type.rules
            let topic =
                switch type {
                case .alert, .background: "the bundle ID"
                case .mdm: "the UID of the certificate's subject"
                default: "bundle ID + `\(rules.topicSuffix)`"
                }
            let priorities = Priority.allCases.filter { rules.permits($0) }.map(\.name.description)
            return [
                "`\(rules.name)`", topic, priorities.joined(separator: ", "),
                rules.allowsCertificate ? "if it lists the topic" : "never", "\(rules.maximumPayload)",
                rules.needsAps ? "needed" : "",
            ]
        }
        let head = "| push type | topic | priorities | with a certificate | payload, bytes | `aps` |"
        #expect(requests.table(head) == expected)
        #expect(requests.text.contains("its payload may have \(RequestFields.maximumBroadcast) bytes"))
    }

    @Test("The schema of requests has every push type, and no other")
    func pushTypesOfSchema() throws {
        let schema = try DocumentationPage("reference/schemas/request.schema.json").text
        let field = try #require(schema.firstRange(of: "\"apns-push-type\": {\n      \"description\""))
        let names = try #require(schema[field.upperBound...].firstMatch(of: /"enum": \[([^\]]*)\]/)?.1)
        #expect(names.split(separator: "\"").filter { !$0.contains("\n") } == PushType.allCases.map { "\($0)"[...] })
    }

    @Test("It has every field of a request with its limits, and no other")
    func fields() {
        let rows = requests.table("| field | value | without it |")
        let names = rows.compactMap { $0[0].split(separator: "`").first.map(String.init) }
        #expect(names.allSatisfy { RequestFields.Name(ArraySlice($0.utf8)) != nil })
        #expect(Set(names.map { RequestFields.Name(ArraySlice($0.utf8)) }).count == RequestFields.Name.allCases.count)
        for (name, limit) in [
            ("device-token", "2 to \(DeviceToken.maximumDigits)"),
            ("device-tokens", "1 to \(RequestFields.maximumTokens) "),
            ("apns-channel-id", "at most \(ChannelOperation.maximumChannelID) characters"),
            ("apns-collapse-id", "1 to \(Core.Notification.maximumCollapseID) bytes"),
        ] {
            #expect(rows.contains { $0[0] == "`\(name)`" && $0[1].contains(limit) }, "\(name)")
        }
    }

    @Test("It has every key of Apple's tables with the payload check's rules")
    func payloadKeys() {
        let expected = [PayloadTable.aps, .alert, .title, .body, .sound].flatMap { table in
            table.keys.map { key in
                let path = "\(table.path).\(key.name)".dropFirst("payload.".count)
                return ["`\(path)`", "\(key.expectation)", "\(key.scope)", key.need.words]
            }
        }
        #expect(payload.table("| key | value | push types | needed |") == expected)
        #expect(payload.text.contains("The first \(PayloadFindings.maximumKept) are kept"))
    }
}

extension PayloadKey.Need {
    /// As the page writes it.
    fileprivate var words: String {
        switch self {
        case .optional: ""
        case .always: "yes"
        case .oneInAlert: "one of the three for alert"
        case .oneInAlertOrToStart: "one of the three for alert; for start"
        case .toStart: "for start"
        case .toStartOrUpdate: "for start and update"
        }
    }
}
