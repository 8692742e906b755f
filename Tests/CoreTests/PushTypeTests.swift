import Testing

@testable import Core

/// A second transcription of Apple's documentation.
@Suite("Push types")
struct PushTypeTests {
    @Test(
        "Each has the topic, priorities, payload and credentials of Apple's documentation",
        arguments: [
            (.alert, "", 4096, [10, 5, 1], true, true),
            (.background, "", 4096, [5], true, true),
            (.complication, ".complication", 4096, [10, 5, 1], true, false),
            (.controls, ".push-type.controls", 4096, [10, 5, 1], true, true),
            (.fileprovider, ".pushkit.fileprovider", 4096, [10, 5, 1], true, false),
            (.liveactivity, ".push-type.liveactivity", 4096, [10, 5, 1], false, true),
            (.location, ".location-query", 4096, [10, 5, 1], false, false),
            (.mdm, "", 4096, [10, 5, 1], true, false),
            (.pushtotalk, ".voip-ptt", 4096, [10, 5, 1], true, false),
            (.voip, ".voip", 5120, [10, 5, 1], true, false),
            (.widgets, ".push-type.widgets", 4096, [10, 5, 1], true, true),
        ] as [(PushType, String, Int, [UInt8], Bool, Bool)])
    func rules(
        type: PushType, suffix: String, payload: Int, priorities: [UInt8], allowsCertificate: Bool, needsAps: Bool
    ) {
        #expect(type.topicSuffix.description == suffix)
        #expect(type.maximumPayload == payload)
        #expect(Priority.allCases.filter { type.rules.permits($0) }.map(\.rawValue) == priorities)
        #expect(type.rules.allowsCertificate == allowsCertificate)
        #expect(type.rules.needsAps == needsAps)
        #expect(type.rules.defaultPriority == (type == .background ? .considerate : nil))
    }

    @Test("Only the exact name is parsed as a push type", arguments: PushType.allCases)
    func names(type: PushType) {
        let name = "\(type)"
        #expect(name == type.name.description)
        #expect(PushType(name: ArraySlice(name.utf8)) == type)
        for other in [name.uppercased(), name + " ", String(name.dropLast()), ""] {
            #expect(PushType(name: ArraySlice(other.utf8)) == nil)
        }
    }
}
