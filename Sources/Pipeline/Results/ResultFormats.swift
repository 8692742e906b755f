import Core
import Decoding

/// A result in the format of gorush's feedback, one object per notification.
///
/// Source: gorush, `logx/log.go`, `LogPushEntry`; the type names are in `core/core.go`.
struct GorushFeedback {
    private let report: Report
    private let token: ArraySlice<UInt8>
    private let names: (id: JSONPart?, message: JSONPart?)

    init(_ report: Report, _ target: Notification.Target?, position: Int, of delivery: Delivery) {
        self.report = report
        if case .device(let token)? = target { self.token = token.hex } else { token = [] }
        names = GorushDecoder.names(of: delivery, at: position)
    }

    var json: [UInt8] {
        var entry = PayloadComposer()
        entry.add("notif_id", names.id)
        entry.add("type", text: ArraySlice((report.outcome == .accepted ? "succeeded-push" : "failed-push").utf8))
        entry.add("platform", text: ArraySlice("ios".utf8))
        entry.add("token", text: token)
        entry.add("message", json: names.message?.raw ?? ArraySlice("\"\"".utf8))
        entry.add("error", text: ArraySlice(error.utf8))
        return entry.end()
    }

    /// APNs' reason if there is one, as in gorush.
    private var error: String {
        guard report.outcome != .accepted else { return "" }
        return report.reason?.rawValue ?? report.detail ?? report.outcome.name.description
    }
}

/// A result as the data of an event. Source: CloudEvents 1.0.2, JSON event format.
enum ResultEvent {
    static let contentType = ArraySlice("application/cloudevents+json; charset=utf-8".utf8)
    /// For several results in an array. Source: CloudEvents, JSON Event Format, section 4.
    static let batchContentType = ArraySlice("application/cloudevents-batch+json; charset=utf-8".utf8)

    /// - Parameters:
    ///   - result: JSON in Harebell's format.
    ///   - id: the unique message id of the result; empty if it has none.
    static func json(around result: [UInt8], id: ArraySlice<UInt8>) -> [UInt8] {
        var event = PayloadComposer()
        event.add("specversion", json: "\"1.0\"".utf8)
        event.add("id", text: id.isEmpty ? ArraySlice("unknown".utf8) : id)
        event.add("source", json: "\"/harebell\"".utf8)
        event.add("type", json: "\"harebell.result\"".utf8)
        event.add("datacontenttype", json: "\"application/json\"".utf8)
        event.add("data", json: result)
        return event.end()
    }
}
