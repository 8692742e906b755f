/// The name of the retry queue that returns messages to a request queue after a fixed delay.
package enum RetryQueueName {
    package static func make(for queue: String, delay: Duration) -> String {
        "\(queue)\(infix)\(delay.components.seconds)s"
    }

    /// Whether a name is that of a retry queue for `queue`, with any delay: the configuration may have changed while a
    /// request waited.
    package static func matches(_ name: some Collection<UInt8>, queue: String) -> Bool {
        let prefix = "\(queue)\(infix)".utf8
        guard name.starts(with: prefix) else { return false }
        let rest = name.dropFirst(prefix.count)
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return !digits.isEmpty && rest.dropFirst(digits.count).elementsEqual("s".utf8)
    }

    private static let infix = ".retry."
}
