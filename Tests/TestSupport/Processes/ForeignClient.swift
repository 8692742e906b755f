/// Python clients in `Tests/ForeignClients`, based on libraries from PyPI.
package enum ForeignClient {
    /// Runs one of them to its end.
    ///
    /// - Parameter script: its file name.
    /// - Returns: its output.
    package static func run(_ script: String, _ arguments: [String]) throws -> String {
        let (python, path) = try program(script)
        return try ChildProcess.run(python, [path] + arguments)
    }

    /// Starts one of them.
    package static func start(_ script: String, _ arguments: [String] = []) throws -> ChildProcess {
        let (python, path) = try program(script)
        return try ChildProcess(python, [path] + arguments)
    }

    private static func program(_ script: String) throws -> (python: String, path: String) {
        guard let python = TestEnvironment.foreignClientsPython else { throw NotInstalled() }
        return (python, "\(TestEnvironment.repository)/Tests/ForeignClients/\(script)")
    }

    /// Tests that use a foreign client are enabled only where `TestEnvironment.foreignClientsPython` is set.
    private struct NotInstalled: Error {}
}
