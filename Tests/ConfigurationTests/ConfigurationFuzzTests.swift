import Core
import TestSupport
import Testing

@testable import Configuration

/// Damaged configuration files.
@Suite("Fuzzing the configuration")
struct ConfigurationFuzzTests {
    private static let words = [
        "\n", "  ", "\t", ":", ": ", "- ", "{", "}", "[", "]", "\"", "'", "|", ">", "#", "&a ", "*a", "!!", "!!binary ",
        "---\n", "...", "? ", "<<: ", "%YAML 1.1\n", "null", "~", "true", "0", "-1", "1e400", "99999999999999999999",
        "0x10", ".nan", "${HOME}", "${", "\\x00", "\u{FEFF}", "\u{0}", "\u{85}", "apps:\n", "queues: []\n",
    ].map { Array($0.utf8) }

    /// The example, and each of its sections beside the apps, without descriptive text, so that damage hits settings.
    private static func originals() throws -> [[UInt8]] {
        let lines = try DocumentationPage("../config/harebell.example.yaml").text.split(separator: "\n")
            .map { line in line.hasPrefix("#") ? "" : line.firstRange(of: " #").map { line[..<$0.lowerBound] } ?? line }
            .filter { line in line.contains { $0 != " " } }
        var sections: [[Substring]] = []
        for line in lines {
            if line.hasPrefix(" "), !sections.isEmpty {
                sections[sections.count - 1].append(line)
            } else {
                sections.append([line])
            }
        }
        let apps = try #require(sections.first { $0[0] == "apps:" })
        let parts = sections.map { $0 == apps ? apps : $0 + apps }
        return ([lines] + parts).map { Array($0.map { $0 + "\n" }.joined().utf8) }
    }

    @Test("Any file is a configuration or has problems with a place, and none of them shows a secret")
    func damaged() throws {
        let originals = try Self.originals()
        #expect(originals.count > 10)
        let seed = Mutator.seed(20_261_124)
        var mutator = Mutator(seed: seed, fragments: Self.words)
        var (taken, refused) = (0, 0)
        for _ in 0..<Mutator.inputs(300) {
            var damaged = originals[Int.random(in: 0..<originals.count, using: &mutator.random)]
            mutator.damage(&damaged)
            let text = String(decoding: damaged, as: UTF8.self)
            do throws(ConfigurationError) {
                _ = try ConfigurationDocument(
                    content: Array(text.utf8), file: "f", environment: { $0 == "RABBITMQ_PASSWORD" ? "s3cret" : nil },
                    readFile: { _ in throw Complaint("no secrets here") }
                ).configuration
                taken += 1
            } catch {
                refused += 1
                #expect(!error.problems.isEmpty, "seed \(seed): \(text)")
                for problem in error.problems {
                    #expect(problem.location.line > 0 && problem.location.column > 0, "seed \(seed): \(problem)")
                    #expect(!problem.description.contains("s3cret"), "seed \(seed): \(problem)")
                }
            }
        }
        #expect(taken > 0 && refused > 0, "seed \(seed)")
    }
}
