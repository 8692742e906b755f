import APNs
import Core
import Glibc
import System
import TLS
import TestSupport

/// The APNs client alone, over a socket to any server that speaks APNs' protocol. Its pool has one connection and all
/// features; the server's SETTINGS and `inFlight` limit the requests in flight.
///
/// `benchmarks client HOST PORT CA.pem KEY.p8 COUNT` prints one line of JSON: requests per second, and microseconds of
/// CPU (user and system) for each, from the first tenth on.
final class ClientRun: LoopOwner {
    /// Unanswered requests, in the pool and on the wire.
    private static let inFlight = 1000

    private let loop: EventLoop
    private var pool: APNsPool
    private let count: Int
    private let notification: Notification
    private let topic = ArraySlice("com.example.app".utf8)
    private var submitted = 0
    private var responded = 0
    private var refused = 0
    private var warm: (responded: Int, instant: Instant, processor: Double)?

    static func run(_ arguments: ArraySlice<String>) throws {
        guard arguments.count == 5, case let words = Array(arguments), let port = UInt16(words[1]),
            let count = Int(words[4]), count >= 10
        else {
            print("usage: benchmarks client HOST PORT CA.pem KEY.p8 COUNT")
            exit(EX_USAGE)
        }
        let run = try ClientRun(
            Endpoint(host: words[0], port: port), authority: words[2], key: words[3], count: count)
        try run.loop.run(owner: run)
        run.printFigures()
    }

    private init(_ endpoint: Endpoint, authority: String, key: String, count: Int) throws {
        guard let device = DeviceToken(Samples.token) else { preconditionFailure("this is a device token") }
        let payload = ArraySlice(
            #"{"aps":{"alert":{"title":"Hello","body":"This is a message for you"},"badge":1,"sound":"default"}}"#.utf8)
        notification = Notification(
            target: .device(device),
            Notification.Content(pushType: .alert, priority: .immediate, payload: payload))
        self.count = count
        loop = try EventLoop()
        let tokens = ProviderTokenSource(
            key: try SigningKey(file: FilePath(key)), keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        var configuration = APNsPool.Configuration(
            engine: APNsEngine.Configuration(endpoint: endpoint, usesProviderToken: true))
        configuration.connections = 1...1
        configuration.permitsPerSecond = 1_000_000
        configuration.burst = 1_000_000
        pool = APNsPool(
            configuration: configuration,
            context: try TLSContext(role: .client, trust: .file(FilePath(authority)), protocols: ["h2"]),
            tokens: tokens,
            network: try SocketNetwork(loop: loop, resolver: Resolver()), at: loop.now.instant)
    }

    var nextDeadline: Instant? { pool.nextDeadline }

    var turnInterval: Duration { submitted - responded >= Self.inFlight / 2 ? .milliseconds(1) : .zero }

    func expire(at now: Moment) {
        pool.step(at: now)
    }

    func endTurn(at now: Moment) {
        pool.step(at: now)
        while let event = pool.nextEvent() {
            switch event {
            case .responded(_, let response, _):
                responded += 1
                if !response.isSuccess { refused += 1 }
            case .lost(_, let loss, _): fail("a request was lost: \(loss.detail)")
            case .disconnected(let error?): fail("\(error)")
            case .expired: preconditionFailure("no request expires")
            case .connected, .disconnected(nil), .goaway, .alarm, .resent: break
            }
        }
        if warm == nil, responded >= count / 10 { warm = (responded, now.instant, Self.processorTime()) }
        while submitted < count, submitted - responded < Self.inFlight {
            submitted += 1
            let request = APNsRequest(notification, topic: topic, id: NotificationID(high: 1, low: UInt64(submitted)))
            pool.submit(request, handle: Handle(UInt32(truncatingIfNeeded: submitted)), at: now.instant)
        }
        pool.step(at: now)
        if responded == count { loop.stop() }
    }

    private func fail(_ message: String) -> Never {
        print("benchmarks: client: \(message)")
        exit(EX_UNAVAILABLE)
    }

    private func printFigures() {
        guard let warm else { preconditionFailure("a tenth was answered") }
        let measured = Double(responded - warm.responded)
        let seconds = Double((loop.now.instant - warm.instant).nanoseconds) / 1e9
        let processor = (Self.processorTime() - warm.processor) * 1e6 / measured
        print(#"{"n":\#(count),"rate":\#(Int(measured / seconds)),"cpu_us":\#(processor),"refused":\#(refused)}"#)
    }

    /// Of the whole process, in seconds.
    private static func processorTime() -> Double {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        precondition(result == 0, "Linux has this clock")
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
