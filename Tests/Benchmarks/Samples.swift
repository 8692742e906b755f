import AMQP
import Commands
import Core

/// One-kilobyte messages, one for each format.
enum Samples {
    static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    static let size = 1024

    /// The token of another device.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: token.utf8.count - digits.utf8.count) + digits
    }

    struct Sample {
        let name: String
        /// The decoder's name, in `decoders` or without options.
        let decoder: String
        let delivery: Delivery
        /// Its bytes on the wire.
        private(set) var properties = MessageProperties()

        init(
            _ name: String, decoder: String? = nil, headers: [(String, String)] = [],
            properties: [(String, String)] = [("content-type", "application/json")], _ body: (_ text: String) -> String
        ) {
            self.name = name
            self.decoder = decoder ?? name
            var handmade = OneOffDelivery(body: Samples.filled(body))
            let headers = headers + [("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]
            for (name, value) in headers { handmade.add(header: name, .text(value)) }
            for (name, value) in properties + [("message-id", "order-4711"), ("timestamp", "1790000000")] {
                precondition(handmade.set(property: name, value), "\(name) is a property")
            }
            delivery = handmade.delivery
            self.properties = EngineBenchmarks.properties
            if properties.isEmpty { self.properties.contentType = nil }
            self.properties.headers = FieldTable(
                headers.map { FieldTable.Entry(name: Array($0.utf8), value: .string($1)) })
        }
    }

    /// The body, padded with text to ``size`` bytes.
    static func filled(_ body: (_ text: String) -> String) -> [UInt8] {
        let room = size - body("").utf8.count
        var text = ""
        while text.utf8.count < room { text += "Your table at the Café des Amis is booked for tonight at eight. " }
        while text.utf8.count > room { text.removeLast() }
        return Array(body(text).utf8)
    }

    /// Our own envelope.
    static func envelope(_ text: String) -> String {
        #"{"device-token":"\#(token)","apns-topic":"com.example.app","apns-push-type":"alert","apns-priority":10,"#
            + #""payload":{"aps":{"alert":{"title":"Tonight","body":"\#(text)"},"sound":"default"}}}"#
    }

    /// A bare payload.
    static func payload(_ text: String) -> String {
        #"{"aps":{"alert":{"title":"Tonight","body":"\#(text)"},"sound":"default"}}"#
    }

    /// The fields beside a payload.
    static let headers = [
        ("device-token", token), ("apns-topic", "com.example.app"), ("apns-push-type", "alert"),
        ("apns-priority", "10"),
    ]

    static var all: [Sample] {
        [
            Sample("apns-json") { envelope($0) },
            Sample("apns-headers", headers: headers, properties: []) { payload($0) },
            Sample("auto, apns-json", decoder: "auto") { envelope($0) },
            Sample("auto, apns-headers", decoder: "auto", headers: headers, properties: []) { payload($0) },
            Sample("mapping") { #"{"user":{"device":"\#(token)"},"text":"\#($0)","title":"Tonight"}"# },
            Sample("cloudevents, structured", decoder: "cloudevents") {
                #"{"specversion":"1.0","id":"7","source":"/orders","type":"booked","data":\#(envelope($0))}"#
            },
            Sample(
                "cloudevents, binary", decoder: "cloudevents",
                headers: [
                    ("cloudEvents:specversion", "1.0"), ("cloudEvents:id", "7"), ("cloudEvents:source", "/orders"),
                    ("cloudEvents:type", "booked"),
                ]
            ) { envelope($0) },
            Sample("celery", headers: [("task", "send"), ("id", "7")]) { #"[[],\#(envelope($0)),{}]"# },
        ]
    }

    /// The options of formats that have some.
    static let decoders = #"""
        decoders:
          - name: mapping
            mapping: { device-token: /user/device, payload: '{"aps":{"alert":{"title":{/title},"body":{/text}}}}' }
          - name: celery
            celery: { tasks: [{ name: send, pointer: /kwargs }] }
        """#
}
