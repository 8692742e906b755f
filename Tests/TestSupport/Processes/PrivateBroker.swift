import Foundation

/// A test's private RabbitMQ node, for faults that must not affect other tests: it may be stopped, restarted and
/// killed.
///
/// It starts within about four seconds on an idle core. Its data survive a restart and a kill, and are removed with the
/// last reference. For other tests use the shared one, ``TestEnvironment/broker``.
package final class PrivateBroker {
    /// `amqp://guest:guest@127.0.0.1:PORT/%2f`; the port stays the same through restarts.
    package private(set) var url = ""
    private let script: String
    private let directory: TemporaryDirectory

    /// - Parameter files: the initial files of the node's folder, as `rabbitmq.conf`, `advanced.config` or
    ///   `enabled_plugins`.
    /// - Throws: ``TestSupportError`` where ``TestEnvironment/brokerScript`` is nil, or with the end of the node's log.
    package init(_ files: [String: String] = [:]) throws {
        guard let script = TestEnvironment.brokerScript else { throw TestSupportError(TestEnvironment.hint) }
        self.script = script
        directory = try TemporaryDirectory()
        for (name, text) in files { try directory.write(text, to: name) }
        try start()
    }

    deinit {
        // The test is over either way; deploy/test ends remaining nodes.
        _ = try? run("stop")
    }

    /// Starts it again after ``stop()`` or ``kill()``, on the same port and with the same data.
    package func start() throws {
        url = String(try run("start").prefix { !$0.isNewline })
    }

    /// Stops it in order: connections are closed with CONNECTION_FORCED.
    package func stop() throws {
        try run("stop")
    }

    /// SIGKILL: connections end without a close.
    package func kill() throws {
        try run("kill")
    }

    /// Waits until a quorum queue would survive ``kill()`` with its declaration and its messages.
    ///
    /// RabbitMQ writes the names of its quorum queues to disk half a second after the last one was accessed. A node
    /// killed before that knows the queue, but not where its messages are. Source: Ra 2.2, ra_directory (`auto_save`).
    package func waitUntilOnDisk(quorumQueue name: String) throws {
        let file = directory.file("data/harebell@localhost/quorum/harebell@localhost/names.dets")
        try eventually("the queue \(name) on disk", within: .seconds(30)) {
            let content = FileManager.default.contents(atPath: file) ?? Data()
            return content.firstRange(of: Data("_\(name)".utf8)) == nil ? nil : true
        }
    }

    /// `rabbitmqctl`, say `control("set_vm_memory_high_watermark", "0.00001")` for a memory alarm.
    ///
    /// - Returns: its output.
    @discardableResult
    package func control(_ arguments: String...) throws -> String {
        try run("ctl", arguments)
    }

    @discardableResult
    private func run(_ command: String, _ arguments: [String] = []) throws -> String {
        try ChildProcess.run(script, [command, directory.path] + arguments)
    }
}
