/// A shared library in C, compiled for one test.
package struct CompiledLibrary {
    package let folder: TemporaryDirectory
    package let path: String

    /// - Parameters:
    ///   - source: the path of the C file, from the repository's root.
    ///   - definitions: macros.
    package init(_ source: String, _ definitions: [String] = []) throws {
        folder = try TemporaryDirectory()
        path = folder.file("library.so")
        try ChildProcess.run(
            "/bin/sh",
            [
                "-c", #"exec $(command -v cc || command -v clang) "$@""#, "cc", "-std=gnu11", "-Wall", "-Wextra",
                "-Werror", "-O1", "-fPIC", "-shared", "-o", path,
                "-I\(TestEnvironment.repository)/Sources/CHarebellDecoder/include",
                "\(TestEnvironment.repository)/\(source)",
            ] + definitions.map { "-D\($0)" })
    }

    /// A decoder that does everything a library must not do, see the file.
    package static func unruly(_ definitions: String...) throws -> CompiledLibrary {
        try CompiledLibrary("Tests/DecoderLibraries/unruly.c", definitions)
    }
}
