import AMQP
import APNs
import Core

/// The state machines that every request passes.
enum MachineBenchmarks {
    static let all = [limiterAndPlacement, deliveryLedger, confirmLedger]

    private static let limiterAndPlacement = Benchmark("limiter and placement") { meter in
        var limiters = (0..<4).map { _ in RateLimiter(perSecond: 4000, burst: 500, at: Instant(nanoseconds: 0)) }
        var placement = Placement()
        var now = Instant(nanoseconds: 0)
        return { operations in
            meter.measure {
                for operation in 0..<operations {
                    if operation % 100 == 0 {
                        now = now + .milliseconds(25)
                        placement.capacities.removeAll(keepingCapacity: true)
                        for index in limiters.indices {
                            placement.capacities.append(
                                Placement.Capacity(
                                    freeStreams: 1000, permits: limiters[index].available(at: now), window: 1 << 20,
                                    inFlight: 0))
                        }
                    }
                    guard let chosen = placement.place(size: Samples.size) else { continue }
                    meter.result += limiters[chosen].take(at: now) ? 1 : 0
                }
            }
        }
    }

    private static let deliveryLedger = Benchmark("delivery ledger") { meter in
        var ledger = DeliveryLedger(epoch: 1)
        let now = Instant(nanoseconds: 0)
        return { operations in
            meter.measure {
                for _ in 0..<operations {
                    let tag = ledger.next
                    guard ledger.deliveryReceived(tag), ledger.settle(tag, epoch: 1, at: now) else { continue }
                    while ledger.nextAcknowledgement(at: now) != nil { meter.result += 1 }
                }
            }
        }
    }

    private static let confirmLedger = Benchmark("confirm ledger") { meter in
        var ledger = ConfirmLedger()
        return { operations in
            meter.measure {
                for operation in 0..<operations {
                    let sequence = ledger.publishSent(fingerprint: UInt64(operation))
                    guard sequence % 16 == 0 else { continue }
                    ledger.confirmReceived(tag: sequence, multiple: true, acked: true) { _, _ in meter.result += 1 }
                }
            }
        }
    }
}
