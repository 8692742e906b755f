import Core

/// Events besides the random faults.
enum Disturbance: CaseIterable {
    case cutConsumer, cutPublisher, cutAPNs, freezeBroker, freezeAPNs
    case restartBroker, alarm, cancelConsumers, refusePublishes, holdConfirms, loseDeadLetters, loseResults
    case loseRetries, loseMajority
    case endAPNsConnections, moveAPNs, setClock, reload
    case kill, drain

    var isAtBroker: Bool {
        switch self {
        case .cutConsumer, .cutPublisher, .freezeBroker, .restartBroker, .alarm, .cancelConsumers, .refusePublishes,
            .holdConfirms, .loseDeadLetters, .loseResults, .loseRetries, .loseMajority:
            true
        case .cutAPNs, .freezeAPNs, .endAPNsConnections, .moveAPNs, .setClock, .reload, .kill, .drain: false
        }
    }
}

/// The faults of a simulated APNs: some of the simulator's script, drawn from a seed.
struct Trouble {
    let lines: [String]

    static let none = Trouble(lines: [])

    /// Whether requests may wait for space in transit, so that their arrival does not show when they were permitted.
    var holdsRequestsUp: Bool {
        lines.contains { $0.contains("window=") || $0.contains("table=") }
    }

    private init(lines: [String]) {
        self.lines = lines
    }

    /// - Parameter span: the length of the faults; those that end connections repeatedly are rarer in long runs.
    init(span: Duration, random: inout SplitMix64) {
        var lines = Self.responses + Self.connections
        for _ in 0..<4 { lines.append(Self.goaway(&random)) }
        let unit = span / 6
        lines += ["after \(Self.text(unit)): goaway", "idle \(Self.text(unit / 2)): goaway IdleTimeout"]
        self.lines = lines.filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
    }

    private static func text(_ duration: Duration) -> String {
        "\(max(1, duration.components.seconds))s"
    }

    private static let responses = [
        "chance 5%: 503 ServiceUnavailable", "chance 5%: 500 InternalServerError", "chance 5%: 429 TooManyRequests",
        "chance 3%: 503 Shutdown", "chance 4%: 410 Unregistered", "chance 3%: 410 ExpiredToken",
        "chance 3%: 400 BadDeviceToken", "chance 3%: 413 PayloadTooLarge", "chance 2%: 418 \"NotInAnyList\"",
        "chance 3%: 503", "chance 3%: 500", "chance 3%: 200 then=CANCEL",
        "chance 2%: 400 BadTopic then=silence, cut", "chance 2%: 200, cut",
        "chance 3%: 403 ExpiredProviderToken", "first 1 requests on connection: 403 ExpiredProviderToken",
        "chance 3%: 429 TooManyProviderTokenUpdates", "first 2 requests on connection: 429 TooManyProviderTokenUpdates",
        "topic com.example.other, first 3 requests: 403 TopicMismatch",
        "topic com.example.app, first 2 requests: 403 InvalidProviderToken",
        "chance 30%: delay 10ms..3s", "chance 4%: silence",
        "operation create, chance 20%: cut", "operation create, chance 20%: rst INTERNAL_ERROR",
        "operation create, chance 20%: delay 5s", "operation create, chance 20%: 503 ServiceUnavailable",
        "operation create, chance 20%: goaway last=before",
    ]

    private static let connections = [
        "chance 4%: rst REFUSED_STREAM", "chance 3%: rst INTERNAL_ERROR", "chance 3%: rst CANCEL",
        "chance 2%: rst ENHANCE_YOUR_CALM", "chance 3%: cut",
        "chance 4%: goaway Shutdown", "chance 4%: goaway Shutdown last=before",
        "chance 3%: goaway last=before close=now",
        "chance 3%: goaway Shutdown announced=300ms", "chance 2%: goaway code=ENHANCE_YOUR_CALM last=this",
        "after 4 requests: goaway Shutdown last=this",
        // Stream limits: small, none, and up again.
        "connect: settings streams=2", "authenticated: settings streams=1",
        "authenticated: settings streams=0\nafter 4s: settings streams=1\nafter 9s: settings streams=50",
        "after 2s: settings streams=1\nafter 6s: settings streams=0\nafter 9s: settings streams=1000",
        // Flow control: none, little, more.
        "connect: settings window=100", "connect: settings window=0\nafter 3s: settings window=1000",
        "after 2s: settings window=0\nafter 6s: settings window=65535",
        "connect: settings table=0", "connect: settings table=65536",
        "after 2s: settings table=0\nafter 4s: settings table=4096",
        // Silence of the peer, late SETTINGS, and too many frames.
        "connect: hold 3s", "after 3s: hold 8s", "chance 2%: hold 2s", "after 2s: ping 100",
        "set device-limit 1 per 2s", "set connection-limit 2 per 20s",
    ]

    /// APNs is truthful: no GOAWAY excludes a request that was answered before it.
    private static func goaway(_ random: inout SplitMix64) -> String {
        func one(_ choices: [String]) -> String { choices.randomElement(using: &random) ?? "" }
        let reason = one([
            "", "BadCertificate", "BadCertificateEnvironment", "BadDeviceToken", "ExpiredProviderToken", "Forbidden",
            "IdleTimeout", "InternalServerError", "InvalidProviderToken", "ServiceUnavailable", "Shutdown",
            "TooManyProviderTokenUpdates", "TooManyRequests",
        ])
        let last = one(["", "last=before", "last=this", "last=none"])
        let end = one(["", "close=now", "announced=200ms", "announced=3s"])
        return "chance 3%: goaway \(reason) \(last) \(end)"
    }
}
