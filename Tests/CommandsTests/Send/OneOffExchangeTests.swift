import APNs
import Core
import Logging
import Pipeline
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Commands
@testable import Configuration
@testable import Runtime

@Suite("OneOffExchange")
struct OneOffExchangeTests {
    /// Runs one exchange with a world's APNs for at most two minutes.
    private func report(
        _ world: World, _ request: APNsRequest, timeLimit: Duration? = nil, closes: Bool = true
    ) throws -> Report? {
        let exchange = try exchange(world, request, timeLimit: timeLimit)
        #expect(world.finish(exchange))
        if closes { #expect(world.network.links.isEmpty, "the connection is closed afterwards") }
        return exchange.report
    }

    private func exchange(_ world: World, _ request: APNsRequest, timeLimit: Duration? = nil) throws -> OneOffExchange {
        let app = world.configuration.apps[0]
        return try OneOffExchange(
            request, for: app, world.configuration.apns, tokens: ProviderTokens([app]), network: world.network,
            timeLimit: timeLimit, seed: 1, at: world.network.moment)
    }

    private func request(_ token: String, expiration: Int64? = nil) throws -> APNsRequest {
        let content = Notification.Content(
            pushType: .alert, expiration: expiration, payload: ArraySlice("{\"aps\":{\"alert\":\"Hello\"}}".utf8))
        return APNsRequest(
            Notification(target: .device(try #require(DeviceToken(token))), content),
            topic: ArraySlice("com.example.app".utf8), id: NotificationID(high: 1, low: 2))
    }

    @Test("Channels are managed at a separate endpoint with separate limits")
    func channels() throws {
        let world = try World()
        let start = world.network.now
        let bundleID = ArraySlice("com.example.app".utf8)
        func ask(_ operation: ChannelOperation) throws -> Report {
            let request = APNsRequest(Notification(operation), topic: bundleID, id: NotificationID(high: 3, low: 4))
            return try #require(try report(world, request))
        }
        let created = try ask(.create(.none))
        let channelID = try #require(created.channel?.channelID)
        #expect(created.status == 201)
        #expect(try ask(.read(channelID)).channel?.storagePolicy?.elementsEqual("0".utf8) == true)
        #expect(try ask(.list).channel?.channelIDs == [String(decoding: channelID, as: UTF8.self)])
        #expect(try ask(.delete(channelID)).status == 204)
        #expect(try ask(.delete(channelID)).reason?.rawValue == "ChannelNotRegistered")
        #expect(world.network.now < start + .seconds(1), "a closed connection is not waited for")
        let lines = LogLines()
        let log = Logger(label: "test") { _ in lines }
        for record in world.ledger.records { log.log(record) }
        #expect(lines.all.map { $0.metadata["method"]?.description } == ["DELETE"], "the others are of level info")
        try world.setScript("operation create: 500 InternalServerError")
        #expect(try ask(.create(.none)).processed == .unknown)
    }

    @Test("A stopped exchange says whether APNs may have processed its request")
    func stopped() throws {
        let world = try World()
        let exchange = try exchange(world, try request("deaf"))
        world.guests = [exchange]
        world.pass(.seconds(1))
        exchange.stop(at: world.moment)
        #expect(exchange.isFinished && exchange.report?.processed == .unknown && exchange.report?.detail == "stopped")
    }

    @Test("Only the creation of a channel with an unknown end has the advice to list the channels")
    func advice() {
        for (operation, processed, isAdvised) in [
            (.create(.none), .unknown, true), (.create(.none), .no, false), (.list, .unknown, false),
        ] as [(ChannelOperation, Processed, Bool)] {
            let report = Report(outcome: .undelivered, processed: processed, detail: "lost")
            let result = ChannelResult(operation: operation, id: NotificationID(high: 1, low: 2), report: report)
            #expect(result.complaint.contains("list the channels") == isAdvised, "\(operation)")
        }
    }

    @Test("A list of the maximum number of an app's channels fits into the response")
    func longestList() throws {
        let world = try World()
        let bundleID = ArraySlice("com.example.app".utf8)
        for number in 0..<ChannelOperation.maximumChannels {
            let name = String(repeating: "x", count: ChannelOperation.maximumChannelID - 8)
            world.apns.channels.add(Array("\(name)\(10_000_000 + number)".utf8), of: bundleID, .noMessageStored)
        }
        let request = APNsRequest(Notification(.list), topic: bundleID, id: NotificationID(high: 3, low: 4))
        #expect(try report(world, request)?.channel?.channelIDs?.count == ChannelOperation.maximumChannels)
    }

    @Test("An unreachable APNs ends it after three connects, and a silent one at its deadline")
    func unreachable() throws {
        let world = try World()
        world.isAPNsDown = true
        let refused = try #require(try report(world, try request("7777")))
        #expect(refused.processed == .no && refused.attempts == 0 && refused.detail?.contains("ECONNREFUSED") == true)
        #expect(world.network.attempts == OneOffExchange.maximumConnects)

        world.isAPNsDown = false
        world.network.faults[World.apns] = MemoryNetwork.Faults(blackHole: 1)
        #expect(try report(world, try request("7777"))?.detail?.hasPrefix("no connection: ") == true)
        world.network.faults[World.apns] = nil
        let start = world.network.now
        let silent = try #require(try report(world, try request("deaf"), timeLimit: .seconds(3), closes: false))
        #expect(silent.processed == .unknown && silent.attempts == 1 && silent.detail == "no response in time")
        #expect(world.network.now - start == .seconds(4), "a second for the close")
    }

    @Test("Only failed connects in a row end it")
    func resets() throws {
        let world = try World(script: "connect: settings streams=0")
        let exchange = try exchange(world, try request("7777"))
        world.guests = [exchange]
        for _ in 0..<OneOffExchange.maximumConnects {
            #expect(world.pass(atMost: .seconds(10)) { world.openToAPNs == 1 })
            world.cut(World.apns)
        }
        try world.setScript("")
        #expect(world.finish(exchange) && exchange.report?.outcome == .accepted)
    }

    @Test(
        "A refused credential, topic or environment is rejected, and blamed",
        arguments: [
            (
                "403 InvalidProviderToken", Outcome.rejected, Processed.yes,
                "APNs refuses the provider token of com.example.app; check key_id"
            ),
            ("403 BadCertificate", .rejected, .yes, "APNs refuses the app's certificate; harebell check shows"),
            (
                "400 TopicDisallowed", .rejected, .yes,
                "APNs accepts the provider token, but not for com.example.app; check the topic"
            ),
            ("400 BadCollapseId", .rejected, .yes, nil), ("503 Shutdown", .undelivered, .no, nil),
            ("503 ServiceUnavailable", .undelivered, .no, nil),
        ] as [(String, Outcome, Processed, String?)])
    func refused(response: String, outcome: Outcome, processed: Processed, words: String?) throws {
        let world = try World(script: "token *: \(response)")
        let report = try #require(try report(world, try request("7777")))
        #expect(report.outcome == outcome && report.processed == processed)
        let detail = report.detail ?? ""
        #expect(detail.contains("not caused by the request: \(words ?? "")") == (words != nil), "\(detail)")
    }

    @Test("A wrong clock is reported")
    func alarm() throws {
        let world = try World(script: "token *: 403 ExpiredProviderToken")
        let exchange = try exchange(world, try request("7777"))
        #expect(world.finish(exchange) && exchange.alarms == [.clockSkew])
    }

    @Test("Behind a proxy all connections use it, under the endpoint's own name")
    func proxy() throws {
        let world = try World { $0.apns.proxy = Addresses.proxy("http://us%65r:pass@proxy.test:3128") }
        let direct = world.network.accept
        var requests: [[String]] = []
        world.network.accept = { _ in nil }
        world.network.openTunnel = { proxy, request in
            #expect(proxy == Endpoint(host: "proxy.test", port: 3128))
            requests.append(request)
            return ("HTTP/1.1 200 Connection established", direct(World.apns))
        }
        let report = try #require(try report(world, try request("7777")))
        #expect(report.outcome == .accepted)
        #expect(
            requests == [
                ["CONNECT apns.test:443 HTTP/1.1", "Host: apns.test:443", "Proxy-Authorization: Basic dXNlcjpwYXNz"]
            ])
    }
}
