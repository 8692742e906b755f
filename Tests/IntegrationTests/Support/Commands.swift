import Foundation
import TestSupport
import Testing

extension ChildProcess {
    /// Runs `harebell` to its end.
    static func harebell(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
        let process = try ChildProcess(try #require(TestEnvironment.binary), arguments, environment: environment)
        try process.waitForExit(within: .seconds(90))
        return process
    }

    /// Expects that the process has exited with this status.
    @discardableResult
    func expectExit(_ status: Int32, sourceLocation: SourceLocation = #_sourceLocation) -> ChildProcess {
        #expect(exit == .exited(status), "\(report)", sourceLocation: sourceLocation)
        return self
    }

    var errors: String { text(.errors) }

    /// The number of lines on standard error that contain these words.
    func errorLines(with words: String) -> Int {
        errors.split(separator: "\n").count { $0.contains(words) }
    }

    /// The JSON that it printed.
    func object() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text().utf8)) as? [String: Any], "\(report)")
    }
}

extension ChildProcess {
    /// A page of a worker's admin server.
    func page(_ path: String, _ arguments: [String] = []) throws -> (status: Int, body: String) {
        let text = try ChildProcess.run(
            "/usr/bin/curl",
            ["--silent", "--show-error", "--max-time", "20", "--write-out", "%{http_code}"] + arguments
                + ["http://\(try adminAddress())\(path)"])
        return (Int(text.suffix(3)) ?? 0, String(text.dropLast(3)))
    }
}

extension Stage {
    /// Runs a command with the configuration that was written last.
    func run(_ arguments: [String]) throws -> ChildProcess {
        try .harebell(arguments + ["--config", directory.file("harebell.yaml")])
    }
}
