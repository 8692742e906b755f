package import Core
package import TLS

/// Called on the simulator's thread.
package protocol SimulatorObserver: AnyObject {
    /// A request has ended with a response, or deliberately without one.
    func ended(_ record: SimulatorLedger.Record, at time: WallTime)
    func failed(connection: Int, _ error: any Error)
}

/// The state that the connections of one simulator share on their thread.
package final class SimulatorContext {
    package let configuration: SimulatorConfiguration
    package let script: Script
    package let ledger: SimulatorLedger
    package let channels: ChannelRegistry
    private let startedAt: Instant
    package var observer: (any SimulatorObserver)?
    let keys: ProviderKeyRing
    let tls: TLSContext
    /// Of the script's counting conditions, over all connections.
    var counters: [Int]
    var random: SplitMix64
    /// The recent notifications to each device. Source: "Handling notification responses from APNs",
    /// `TooManyRequests`.
    private var devices: [[UInt8]: RateWindow] = [:]
    /// With more devices than this, all are forgotten.
    private static let maximumDevices = 1_000_000
    private var connections = RateWindow()
    private var lastNumber = 0
    private var anchor: Moment

    /// - Parameters:
    ///   - identity: the server's certificate and key.
    ///   - now: relates the two clocks; later instants are converted to wall time with it.
    package init(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(), script: Script = Script(),
        identity: TLSContext.Identity, ledger: SimulatorLedger = SimulatorLedger(),
        channels: ChannelRegistry = ChannelRegistry(), now: Moment
    ) throws(Complaint) {
        self.configuration = configuration
        self.script = script
        self.ledger = ledger
        self.channels = channels
        startedAt = now.instant
        keys = try ProviderKeyRing(configuration.keys, startedAt: now.instant)
        do {
            tls = try TLSContext(
                role: .server, trust: configuration.clientAuthorityPEM.map { .pem($0) } ?? .none, identity: identity,
                protocols: ["h2"])
        } catch {
            throw Complaint("the server's certificate, or the authority of its clients, cannot be used: \(error)")
        }
        counters = Array(repeating: 0, count: script.counters)
        random = SplitMix64(seed: configuration.seed)
        anchor = now
        for channel in script.channels {
            channels.add(Array(channel.channelID.utf8), of: Array(channel.bundleID.utf8)[...], channel.policy)
        }
    }

    package func makeEngine() throws(Complaint) -> SimulatorEngine {
        lastNumber += 1
        return try SimulatorEngine(context: self, number: lastNumber)
    }

    /// The bundle IDs registered so far; `nil` for all.
    func topics(at now: Instant) -> [[UInt8]]? {
        guard !configuration.topics.isEmpty else { return nil }
        return configuration.topics.filter { startedAt + $0.after <= now }.map { Array($0.bundleID.utf8) }
    }

    /// - Returns: `false` if the device (token in lower case) has reached its limit.
    func admits(device token: ArraySlice<UInt8>, at now: Instant) -> Bool {
        guard let limit = configuration.deviceLimit else { return true }
        if devices.count >= Self.maximumDevices { devices = [:] }
        return devices[Array(token), default: RateWindow()].admit(limit, at: now)
    }

    /// - Returns: `false` if too many connections were opened recently.
    func admitsConnection(at now: Instant) -> Bool {
        guard let limit = configuration.connectionLimit else { return true }
        return connections.admit(limit, at: now)
    }

    /// Updates the wall clock, which may have been changed.
    package func synchronize(at now: Moment) {
        anchor = now
    }

    func moment(at instant: Instant) -> Moment {
        let elapsed = (instant - anchor.instant).nanoseconds / 1_000_000
        return Moment(instant: instant, wall: WallTime(milliseconds: anchor.wall.milliseconds + elapsed))
    }

    func ended(_ record: SimulatorLedger.Record) {
        observer?.ended(record, at: moment(at: record.endedAt).wall)
        ledger.ended(record)
    }

    func failed(connection: Int, _ error: any Error) {
        observer?.failed(connection: connection, error)
        ledger.count { $0.failedConnections += 1 }
    }
}
