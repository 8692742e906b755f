import Files
import TestSupport
import Testing

@Suite("Whole files")
struct WholeFileTests {
    @Test("What was written is read, up to the limit and not beyond")
    func reading() throws {
        let folder = try TemporaryDirectory()
        let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        try WholeFile.write(content, to: folder.file("a"))
        #expect(try WholeFile.read(folder.file("a"), upTo: content.count) == content)
        #expect(throws: WholeFile.Failure.tooLarge) {
            try WholeFile.read(folder.file("a"), upTo: content.count - 1)
        }
        try WholeFile.write("b".utf8, to: folder.file("a"))
        #expect(try WholeFile.read(folder.file("a"), upTo: 1) == Array("b".utf8))
    }

    @Test("A file that is missing or none brings the system's sentence")
    func failures() throws {
        let folder = try TemporaryDirectory()
        #expect(throws: WholeFile.Failure.system("No such file or directory")) {
            try WholeFile.read(folder.file("a"), upTo: 1)
        }
        #expect(throws: WholeFile.Failure.system("Is a directory")) { try WholeFile.read(folder.path, upTo: 1) }
        #expect(throws: WholeFile.Failure.system("Is a directory")) {
            try WholeFile.write([], to: folder.path)
        }
    }

    @Test("A relative path starts at the folder of the file that names it")
    func paths() {
        #expect(WholeFile.path("/a/b", beside: "/etc/x.yaml") == "/a/b")
        #expect(WholeFile.path("b", beside: "x.yaml") == "b")
        #expect(WholeFile.path("b", beside: "a/x.yaml") == "a/b")
    }
}
