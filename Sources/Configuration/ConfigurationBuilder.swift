import Core
import Decoding
import Logging
import System

/// Creates the configuration from validated values. Only reading secrets from files can still fail.
extension ConfigurationReader {
    mutating func build() -> Configuration {
        Configuration(
            broker: broker(),
            queues: (0..<values.count("queues")).map { index in
                Configuration.Queue(
                    name: text("queues[\(index)].name"), decoder: text("queues[\(index)].decoder"),
                    prefetch: UInt16(integer("queues[\(index)].prefetch")),
                    isSingleActive: boolean("queues[\(index)].single_active_consumer"),
                    consumerPriority: values.integer("queues[\(index)].consumer_priority"),
                    rateLimit: values.integer("queues[\(index)].rate_limit.per_second").map {
                        Configuration.RateLimit(perSecond: $0, burst: integer("queues[\(index)].rate_limit.burst"))
                    })
            },
            decoders: decoderEntries().map(\.definition),
            results: results(),
            feedback: optionalRoute("feedback"),
            deadLetter: Configuration.Route(
                exchange: text("dead_letter.exchange"), routingKey: text("dead_letter.routing_key")),
            retry: Configuration.Retry(
                delays: durations("retry.delays_seconds"),
                throttledDelays: durations("retry.throttled_delays_seconds"),
                maximumAttempts: integer("retry.max_attempts")),
            apns: Configuration.APNs(
                connections: integer("apns.connections.min")...integer("apns.connections.max"),
                permitsPerSecond: integer("apns.rate_limit.per_second"), burst: integer("apns.rate_limit.burst"),
                requestTimeout: seconds("apns.request_timeout_seconds"), pingIdle: seconds("apns.ping_idle_seconds"),
                proxy: values.text("apns.proxy").flatMap(Addresses.proxy),
                badTokenPause: boolean("apns.bad_token_pause") ? TokenRefusalShare.Limit() : nil),
            apps: apps.map { app($0) },
            workers: integer("workers"),
            drainDeadline: seconds("drain_deadline_seconds"),
            hold: seconds("hold_seconds"),
            admin: admin(), tracing: tracing(),
            log: Configuration.Log(
                level: choice("log.level"), format: choice("log.format"), showPayloads: boolean("log.show_payloads")))
    }

    private mutating func broker() -> Configuration.Broker {
        Configuration.Broker(
            endpoints: known(values.texts("broker.endpoints"), "broker.endpoints").map(Secret.init),
            password: secret("broker.password_file"), passwordFile: path("broker.password_file"),
            tls: Configuration.TLSFiles(
                caFile: path("broker.tls.ca_file"), certificateFile: path("broker.tls.certificate_file"),
                privateKeyFile: path("broker.tls.private_key_file"), serverName: values.text("broker.tls.server_name")),
            heartbeat: seconds("broker.heartbeat_seconds"),
            maximumMessage: integer("broker.max_message_bytes"))
    }

    private func results() -> Configuration.Results {
        var results = Configuration.Results(route: optionalRoute("results"), publish: .none)
        if results.route != nil { results.publish = choice("results.publish") }
        if let per = values.text("results.per").flatMap(Configuration.Results.Per.init) { results.per = per }
        return results
    }

    private func optionalRoute(_ section: String) -> Configuration.Route? {
        guard let key = values.text("\(section).routing_key") else { return nil }
        return Configuration.Route(exchange: text("\(section).exchange"), routingKey: key)
    }

    private mutating func app(_ app: String) -> Configuration.App {
        let environment: Environment = choice("\(app).environment")
        guard let credential = credentials(app).first else { preconditionFailure("the rules ask for one credential") }
        let endpoint =
            values.text("\(app).endpoint").flatMap(Addresses.service) ?? Endpoint(host: environment.host, port: 443)
        return Configuration.App(
            topic: text("\(app).topic"), environment: environment, endpoint: endpoint,
            managementEndpoint: endpoint.host == environment.host ? environment.channelManagement : endpoint,
            caFile: path("\(app).ca_file"), credential: credential)
    }

    private mutating func admin() -> Configuration.Admin? {
        guard let listen = values.text("admin.listen").flatMap(Addresses.listener) else { return nil }
        return Configuration.Admin(
            listen: listen, token: adminToken(), readyWhen: choice("admin.ready_when"))
    }

    private func tracing() -> Configuration.Tracing? {
        guard let (endpoint, usesTLS) = values.text("tracing.endpoint").flatMap(Addresses.collector),
            let ratio = values.number("tracing.sample_ratio")
        else { return nil }
        return Configuration.Tracing(endpoint: endpoint, usesTLS: usesTLS, sampleRatio: ratio)
    }

    private func known<Value>(_ value: Value?, _ path: String) -> Value {
        guard let value else { preconditionFailure("\(path) has been read") }
        return value
    }

    private func text(_ path: String) -> String { known(values.text(path), path) }

    private func integer(_ path: String) -> Int { known(values.integer(path), path) }

    private func boolean(_ path: String) -> Bool { known(values.boolean(path), path) }

    private func seconds(_ path: String) -> Duration { .seconds(integer(path)) }

    private func durations(_ path: String) -> [Duration] { known(values.integers(path), path).map { .seconds($0) } }

    private func choice<Value: RawRepresentable<String>>(_ path: String) -> Value {
        known(Value(rawValue: text(path)), path)
    }
}
