import AMQP
import Configuration
import Core
import Logging
import Monitoring
import Pipeline
import Runtime

/// The control thread's log lines at the start, each minute and at the end.
extension Application {
    func logStart() {
        let configuration = plan.configuration
        log.notice(
            "starting",
            metadata: [
                "service.version": "\(Version.text)", "config_file": "\(file.path)",
                "brokers": .array(configuration.broker.addresses.map { "\($0.endpoint)" }),
                "queues": .array(configuration.queues.map { "\($0.name) (prefetch \($0.prefetch))" }),
                "apps": .array(configuration.apps.map { "\($0.topic) (\($0.environment.rawValue))" }),
                "workers": .stringConvertible(configuration.workers),
            ])
    }

    func logWork(at now: Instant) {
        let snapshots = workers.watch.seen(at: now).compactMap(\.snapshot)
        if let work = workers.summary.take(snapshots, at: now) {
            log.info("throughput of the last minute", metadata: work)
        }
    }

    func logTotals() {
        let totals = workers.totals
        let numbers = totals.numbers([
            "duplicates_avoided": .duplicatesAvoided, "retries": .retries, "uncertain": .uncertain, "parked": .parked,
            "requeued": .requeued, "dead_letters": .deadLetters,
        ])
        var fields: Logger.Metadata = numbers.mapValues { .stringConvertible($0) }
        fields["deliveries"] = .stringConvertible(totals.deliveries.reduce(0, +))
        fields["unsettled"] = .stringConvertible(totals.unsettled)
        log.notice("ended", metadata: fields)
    }
}
