import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Test support")
struct SupportTests {
    @Test("a temporary directory holds written files and is removed with its last reference")
    func temporaryDirectory() throws {
        var directory: TemporaryDirectory? = try TemporaryDirectory()
        let file = try #require(try directory?.write("text", to: "name"))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "text")
        directory = nil
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test("free ports differ from one call to the next")
    func freePorts() throws {
        let ports = try (0..<500).map { _ in try freePort() }
        #expect(Set(ports).count == ports.count)
        #expect(!ports.contains(0))
    }

    @Test("a child's output and exit status are returned")
    func output() throws {
        let child = try ChildProcess(
            "/bin/sh", ["-c", "echo $WORD; echo two >&2; exit 3"], environment: ["WORD": "one"])
        #expect(try child.waitForExit() == .exited(3))
        #expect(child.text() == "one\n")
        #expect(child.text(.errors) == "two\n")
        #expect(try #require(child.usage).peakMemoryKiB > 0)
    }

    @Test("a wait for a line ends when it is complete")
    func line() throws {
        let child = try ChildProcess("/bin/sh", ["-c", "printf rea; sleep 0.1; echo dy; exec sleep 60"])
        try child.waitForLine("ready")
        child.signal(SIGTERM)
        #expect(try child.waitForExit() == .signalled(SIGTERM))
    }

    @Test("a missing line is an error with the child's output, at its end and at the limit")
    func missingLine() throws {
        let ended = try ChildProcess("/bin/sh", ["-c", "echo sorry >&2"])
        let error = #expect(throws: TestSupportError.self) { try ended.waitForLine("ready") }
        #expect(error?.description.contains("sorry") == true)
        let silent = try ChildProcess("/bin/sleep", ["60"])
        #expect(throws: TestSupportError.self) { try silent.waitForLine("ready", within: .milliseconds(50)) }
    }

    @Test("a child without references is killed")
    func abandoned() throws {
        var child: ChildProcess? = try ChildProcess("/bin/sleep", ["60"])
        let processID = try #require(child?.processID)
        child = nil
        #expect(kill(processID, 0) == -1)
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
        "the nodes of a cluster know each other, a killed one rejoins, and none runs after the end",
        .enabled(if: TestEnvironment.brokerScript != nil, "\(TestEnvironment.hint)"))
    func cluster() throws {
        let script = try #require(TestEnvironment.brokerScript)
        let directory = try TemporaryDirectory()
        func broker(_ arguments: String...) throws -> String { try ChildProcess.run(script, arguments) }
        func members(_ node: String) throws -> String {
            try broker("ctl", directory.file(node), "-q", "eval", "lists:sort([node() | nodes()]).")
        }
        let all = "[harebell1@node1,harebell2@node2,harebell3@node3]\n"
        let urls = try broker("cluster", directory.path, "--nodes", "3")
        defer { _ = try? broker("stop", directory.path) }
        #expect(Set(urls.split(separator: "\n")).count == 3)
        #expect(try members("1") == all)

        #expect(throws: TestSupportError.self, "a cluster is not made twice") {
            try broker("cluster", directory.path, "--nodes", "3")
        }
        _ = try broker("kill", directory.file("2"))
        try eventually("a cluster without its second node") {
            try members("1") == "[harebell1@node1,harebell3@node3]\n" ? true : nil
        }
        _ = try broker("start", directory.file("2"))
        #expect(try members("2") == all)
        #expect(try broker("url", directory.path) == urls)

        let processes = try broker("pid", directory.path).split(separator: "\n").compactMap { pid_t($0) }
        #expect(processes.count == 3)
        _ = try broker("stop", directory.path)
        #expect(processes.allSatisfy { kill($0, 0) == -1 })
        #expect(!FileManager.default.fileExists(atPath: directory.file("epmd.pid")))
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

    @Test(
        "the shared broker responds", .enabled(if: TestEnvironment.broker != nil, "\(TestEnvironment.hint)"))
    func sharedBroker() throws {
        #expect(try #require(TestEnvironment.broker).hasPrefix("amqp://"))
    }
}
