import TestSupport
import Testing

/// Whatever starts the built `harebell`: one after the other, because each test wants the machine for itself.
@Suite(
    "Processes", .serialized,
    .enabled(
        if: TestEnvironment.broker != nil && TestEnvironment.brokerScript != nil && TestEnvironment.binary != nil,
        "\(TestEnvironment.hint)"))
enum ProcessTests {}
