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
                guard let decoder = DecoderSet(configuration)[sample.decoder],
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
        let encoder = ResultEncoder()
        let sample = Samples.all[0]
        let request = try decoded(sample)
        let report = Report(outcome: .accepted, status: 200)
        return { operations in
            meter.measure {
                for number in 0..<operations {
                    let result = encoder.encode(
                        report, id: NotificationID(high: 1, low: UInt64(number)),
                        notification: request.notifications[0], delivery: sample.delivery)
                    meter.result += result.body.count
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
