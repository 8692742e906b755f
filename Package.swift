// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every Swift target: the compiler's strictest reading of concurrency and memory safety. Where CI
/// is set, warnings are errors.
let rules: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ] + (Context.environment["CI"] == nil ? [] : [.treatAllWarnings(as: .error)])

/// The files that all pages share, which the binary contains.
let page = ["page.css", "page.js"]

/// The files of the dashboard's page, likewise.
let dashboard = [
    "dashboard.html", "runbook.md", "dashboard.css", "elements.js", "chart.js", "sections.js", "main.js",
]

/// The files of the inbox's page, likewise.
let inbox = ["inbox.html", "inbox.css", "inbox.js"]

/// The commit and its date, which the Makefile takes from Tests/Tools/revision. If they change, one C file is compiled.
let revision = Context.environment["HAREBELL_REVISION"] ?? ""

/// What `harebell schema` prints; links to the files in docs/reference/schemas.
let schemas = ["request.schema.json", "result.schema.json", "dead-letter.schema.json", "asyncapi.json"]

let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")

func library(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: rules)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["TestSupport"], swiftSettings: rules)
}

let package = Package(
    name: "harebell",
    products: [
        .executable(name: "harebell", targets: ["harebell"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    ],
    targets: [
        // Layer 1: C, each library visible from one target.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CRabbitMQ", pkgConfig: "librabbitmq", providers: [.apt(["librabbitmq-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CHarebellDecoder"),
        .target(name: "CRevision", cSettings: [.define("HAREBELL_REVISION", to: "\"\(revision)\"")]),
        .systemLibrary(
            name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        // Layer 2: the words.
        library("Core", [deque]),
        // Layer 3: the operating system.
        library("System", ["CLinux", "Core"]),
        // Layer 4: one mechanism each.
        library("TLS", ["COpenSSL", "Core", "System"]),
        library("HTTP2", ["CNghttp2", "Core", deque]),
        // Layer 5: one peer each.
        library("AMQP", ["CRabbitMQ", "Core", "TLS", deque]),
        library("APNs", ["Core", "TLS", "HTTP2", deque]),
        library(
            "Admin", ["CMicrohttpd", "Core", "System", "TLS"], resources: page.map { .embedInCode("Page/\($0)") }),
        // Layer 6: what messages say.
        library(
            "Decoding",
            [
                "CHarebellDecoder", "CZlib", "Core", "System", deque,
                .product(name: "Logging", package: "swift-log"),
            ]),
        // Layer 7: what a file says.
        library(
            "Configuration",
            [
                "CYAML", "Core", "System", "TLS", "AMQP", "Decoding",
                .product(name: "Logging", package: "swift-log"),
            ]),
        // A simulated APNs, written from Apple's documents, and an inbox with the notifications that it accepted.
        library(
            "Simulator", ["Core", "System", "TLS", "HTTP2", "Admin", "Decoding", deque],
            resources: inbox.map { .embedInCode("Inbox/Page/\($0)") }),
        // Layer 8: the circle.
        library(
            "Pipeline",
            [
                "Core", "TLS", "AMQP", "APNs", "Decoding", "Configuration", deque,
                .product(name: "Logging", package: "swift-log"),
            ]),
        // Layer 9: threads that do it, with their connections.
        library(
            "Runtime",
            [
                "Core", "System", "TLS", "AMQP", "APNs", "Decoding", "Configuration", "Pipeline", deque,
                .product(name: "Logging", package: "swift-log"),
            ]),
        // Layer 10: what those see who watch.
        library(
            "Monitoring",
            ["Core", "System", "TLS", "APNs", "Admin", "Decoding", "Pipeline", "Runtime", deque],
            resources: dashboard.map { .embedInCode("Dashboard/\($0)") }),
        // Layer 11: a folder a command.
        library(
            "Commands",
            [
                "CRevision", "Core", "System", "TLS", "HTTP2", "AMQP", "APNs", "Admin", "Simulator",
                "Decoding", "Configuration", "Pipeline", "Runtime", "Monitoring", deque,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ], resources: schemas.map { .embedInCode("Schema/\($0)") }),
        // Layer 12: the program.
        .executableTarget(name: "harebell", dependencies: ["Commands"], swiftSettings: rules),
        // Shared by the tests: the in-memory broker, memory links, private brokers and processes.
        .target(
            name: "TestSupport",
            dependencies: ["Core", "System", "AMQP", "TLS", "HTTP2", "Simulator", "CRabbitMQ", "CZlib"],
            path: "Tests/TestSupport",
            swiftSettings: rules),
        // A broker, whole workers and an APNs in memory, on virtual time.
        .target(
            name: "SimulatedWorld",
            dependencies: [
                "TestSupport", "Commands", "Monitoring", "Runtime", "Pipeline", "Configuration", "Decoding", "Admin",
                "Simulator", "AMQP", "TLS", "System", "Core", .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/SimulatedWorld", swiftSettings: rules),
        // What an operation costs, in instructions and allocations: see docs/internals/benchmarks.md.
        .target(name: "AllocationCounter", path: "Tests/AllocationCounter"),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "AllocationCounter", "SimulatedWorld", "TestSupport", "Simulator", "Decoding",
                "Configuration", "Pipeline", "Runtime", "Commands", "AMQP", "APNs", "TLS", "System", "Core",
                .product(name: "Logging", package: "swift-log"),
            ], path: "Tests/Benchmarks", exclude: ["thresholds"], swiftSettings: rules),
        // A decoder in a process of its own, which misbehaves on demand.
        .executableTarget(name: "echo-decoder", path: "Tests/EchoDecoder"),
        // The documentation's example of a decoder in Swift.
        .executableTarget(
            name: "example-decoder", path: "docs/produce/examples/process", exclude: ["decoder.py"],
            swiftSettings: rules),
        tests("CoreTests", ["Core"]),
        tests("SystemTests", ["System", "Core"]),
        tests("TLSTests", ["TLS", "System", "Core", "COpenSSL"]),
        tests("HTTP2Tests", ["HTTP2", "Core", "CNghttp2"]),
        tests("AMQPTests", ["AMQP", "Core", "System", "TLS"]),
        tests("APNsTests", ["APNs", "Simulator", "Core", "TLS", "HTTP2", "System"]),
        tests("SimulatorTests", ["Simulator", "Admin", "Core", "TLS", "HTTP2", "System"]),
        tests("AdminTests", ["Admin", "Core", "System"]),
        tests(
            "DecodingTests",
            [
                "Commands", "Runtime", "Pipeline", "Configuration", "Decoding", "AMQP", "System", "Core",
                "SimulatedWorld", .product(name: "Logging", package: "swift-log"),
            ]),
        tests(
            "ConfigurationTests",
            [
                "Runtime", "Configuration", "Decoding", "TLS", "System", "Core",
                .product(name: "Logging", package: "swift-log"),
            ]),
        tests(
            "PipelineTests",
            [
                "Runtime", "Pipeline", "Configuration", "Decoding", "APNs", "AMQP", "TLS", "Core", "SimulatedWorld",
                .product(name: "Logging", package: "swift-log"),
            ]),
        tests(
            "RuntimeTests",
            [
                "Monitoring", "Runtime", "Pipeline", "Configuration", "Simulator", "APNs", "TLS", "System", "Core",
                "SimulatedWorld", .product(name: "Logging", package: "swift-log"),
            ]),
        tests(
            "MonitoringTests",
            [
                "Monitoring", "Runtime", "Configuration", "Decoding", "Admin", "Simulator", "AMQP", "TLS", "System",
                "Core", "SimulatedWorld",
            ]),
        tests(
            "CommandsTests",
            [
                "Commands", "Monitoring", "Runtime", "Pipeline", "Decoding", "Configuration", "Simulator", "APNs",
                "AMQP", "TLS", "System", "Core", "SimulatedWorld", .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        // Whole workers on virtual time.
        tests(
            "WorkerTests",
            [
                "Commands", "Monitoring", "Runtime", "Pipeline", "Configuration", "Decoding", "Simulator",
                "APNs", "AMQP", "TLS", "System", "Core", "SimulatedWorld",
                .product(name: "Logging", package: "swift-log"),
            ]),
        tests(
            "IntegrationTests",
            ["Commands", "Runtime", "AMQP", "Core", "System", "TLS", "Simulator", "SimulatedWorld"]),
    ]
)
