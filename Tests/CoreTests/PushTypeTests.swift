import Testing

@testable import Core

/// A second transcription of Apple's documentation.
@Suite("Push types")
struct PushTypeTests {
    @Test("Only the exact name is parsed as a push type", arguments: PushType.allCases)
    func names(type: PushType) {
        let name = "\(type)"
        #expect(name == type.name.description && PushType(name: ArraySlice(name.utf8)) == type)
        for other in [name.uppercased(), name + " ", String(name.dropLast()), ""] {
            #expect(PushType(name: ArraySlice(other.utf8)) == nil)
        }
    }
}
