import AMQP
import Configuration
import Core
import Decoding
import Pipeline

/// From a one-kilobyte delivery to its request, for each format; and from a request's outcome to its result.
enum DecoderBenchmarks {
    static var all: [Benchmark] {
        Samples.all.map { sample in
            Benchmark("decode \(sample.name)") { meter in
                let configuration = try BenchmarkFiles().configuration()
                guard let decoder = DecoderSet(configuration.decoders)[sample.decoder],
                    case .request = decoder.decode(sample.delivery, at: BenchmarkFiles.start.wall)
                else { preconditionFailure("\(sample.name) is a request") }
                return { operations in
                    meter.measure {
                        for _ in 0..<operations {
                            guard
                                case .request(let request) = decoder.decode(
                                    sample.delivery, at: BenchmarkFiles.start.wall)
                            else { continue }
                            meter.result += request.count
                        }
                    }
                }
            }
        } + [result, payloadCheck]
    }

    private static let result = Benchmark("encode result") { meter in
        let sample = Samples.all[0]
        let request = try decoded(sample)
        let inFlight = InFlightRequest(delivery: sample.delivery, arrived: BenchmarkFiles.start)
        let report = Report(outcome: .accepted, status: 200)
        let route = PublishRoute(exchange: [], routingKey: ArraySlice("replies".utf8))
        return { operations in
            var encoder = ResultEncoder()
            meter.measure {
                for number in 0..<operations {
                    let end = Conclusion(
                        request: inFlight, notification: request.notifications[0],
                        id: NotificationID(high: 1, low: UInt64(number)), report: report)
                    meter.result += encoder.encode(end, to: route).body.count
                }
            }
        }
    }

    private static let payloadCheck = Benchmark("check payload") { meter in
        let notification = try decoded(Samples.all[0]).notifications[0]
        return { operations in
            meter.measure {
                for _ in 0..<operations {
                    let findings = PayloadCheck.findings(
                        in: notification.payload, for: notification.pushType, isBroadcast: false)
                    meter.result += findings.isEmpty ? 1 : 0
                }
            }
        }
    }

    private static func decoded(_ sample: Samples.Sample) throws -> Request {
        switch DecoderSet()[sample.decoder]?.decode(sample.delivery, at: BenchmarkFiles.start.wall) {
        case .request(let request): request
        default: preconditionFailure("\(sample.name) is a request")
        }
    }
}
