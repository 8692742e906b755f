import TestSupport
import Testing

/// Tests that start the built `harebell`: one after the other, because each needs the machine for itself.
@Suite(
    "Processes", .serialized,
    .enabled(
        if: TestEnvironment.broker != nil && TestEnvironment.brokerScript != nil && TestEnvironment.binary != nil,
        "\(TestEnvironment.hint)"))
enum ProcessTests {}
