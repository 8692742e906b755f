import ArgumentParser
import Decoding

/// A payload from options instead of a file.
struct AlertOptions: ParsableArguments {
    @Option(help: "The title of an alert, instead of --payload.")
    var title: String?

    @Option(help: "The subtitle of the alert.")
    var subtitle: String?

    @Option(help: "The text of the alert.")
    var body: String?

    @Option(help: "The number on the app's icon; 0 removes it.")
    var badge: Int?

    @Option(help: "The name of a sound in the app, or default.")
    var sound: String?

    func validate() throws {
        guard badge.map({ $0 >= 0 }) ?? true else { throw ValidationError("--badge is at least 0") }
    }

    /// `nil` if none of these options is set.
    var payload: [UInt8]? {
        let alert = Self.members([("title", title), ("subtitle", subtitle), ("body", body)])
        var aps: [(String, JSONOutput)] = alert.isEmpty ? [] : [("alert", .object(alert))]
        if let badge { aps.append(("badge", .integer(badge))) }
        aps += Self.members([("sound", sound)])
        return aps.isEmpty ? nil : Array(JSONOutput.text(of: [("aps", .object(aps))]).utf8)
    }

    private static func members(_ texts: [(String, String?)]) -> [(String, JSONOutput)] {
        texts.compactMap { name, text in text.map { (name, .text($0)) } }
    }
}
