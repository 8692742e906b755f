import TestSupport
import Testing

@Suite("Test support")
struct SupportTests {
    @Test("a child's output and exit status are returned")
    func output() throws {
        let child = try ChildProcess(
            "/bin/sh", ["-c", "echo $WORD; echo two >&2; exit 3"], environment: ["WORD": "one"])
        #expect(try child.waitForExit() == .exited(3))
        #expect(child.text() == "one\n")
        #expect(child.text(.errors) == "two\n")
        #expect(try #require(child.usage).peakMemoryKiB > 0)
    }

    @Test("a missing line is an error with the child's output, at its end and at the limit")
    func missingLine() throws {
        let ended = try ChildProcess("/bin/sh", ["-c", "echo sorry >&2"])
        let error = #expect(throws: TestSupportError.self) { try ended.waitForLine("ready") }
        #expect(error?.description.contains("sorry") == true)
        let silent = try ChildProcess("/bin/sleep", ["60"])
        #expect(throws: TestSupportError.self) { try silent.waitForLine("ready", within: .milliseconds(50)) }
    }

    @Test("a program that fails or does not exist is an error")
    func failures() {
        #expect(throws: TestSupportError.self) { try ChildProcess.run("/bin/false") }
        #expect(throws: TestSupportError.self) { try ChildProcess("/nowhere") }
    }

    @Test(
        "a private broker is stopped, killed and restarted on its port, with its data",
        .enabled(if: TestEnvironment.brokerScript != nil, "\(TestEnvironment.hint)"))
    func privateBroker() throws {
        let broker = try PrivateBroker()
        let url = broker.url
        #expect(url.hasPrefix("amqp://guest:guest@127.0.0.1:"))
        #expect(url.hasSuffix("/%2f"))
        try broker.control("add_vhost", "kept")
        try broker.kill()
        #expect(throws: TestSupportError.self) { try broker.control("list_queues") }
        try broker.start()
        #expect(broker.url == url)
        #expect(try broker.control("-q", "list_vhosts").contains("kept"))
        try broker.stop()
    }

    @Test(
        "a broker's folder keeps its release, and only releases 3, 4.0 and 4.3 start",
        .enabled(if: TestEnvironment.brokerScript != nil, "\(TestEnvironment.hint)"),
        arguments: [
            ("4.3", "holds a node of release 3"), ("5", "not a release: 5"), ("", "not a release:"),
        ])
    func release(asked: String, problem: String) throws {
        let script = try #require(TestEnvironment.brokerScript)
        let directory = try TemporaryDirectory()
        try directory.write("3\n", to: "release")
        let error = #expect(throws: TestSupportError.self) {
            try ChildProcess.run(script, ["start", directory.path, "--release", asked])
        }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }
}
