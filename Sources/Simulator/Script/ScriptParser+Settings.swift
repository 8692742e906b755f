import Core

extension ScriptParser {
    static let settings = [
        "environment", "client-ca", "streams-before-token", "topic", "key", "channel",
        "built-in-tokens", "seed", "device-limit", "connection-limit",
    ]

    /// The rest of a line `set NAME VALUE`.
    mutating func set(_ words: inout ScriptWords) throws(Complaint) {
        let name = try words.next("the name of a setting")
        func value(_ wanted: String) throws(Complaint) -> ScriptValue { try words.value(wanted, of: name) }
        switch name {
        case "environment": configuration.environment = try value("production or development").choice()
        case "client-ca":
            configuration.clientAuthorityPEM = try TextFile.read(value("a PEM file").text, beside: file)
        case "streams-before-token": configuration.streamsBeforeToken = try value("a number").number()
        case "topic": try topic(&words)
        case "key": configuration.keys.append(try key(&words))
        case "channel": script.channels.append(try channel(&words))
        case "built-in-tokens": configuration.hasBuiltInTokens = try value("on or off").choice(of: Switch.self) == .on
        case "seed": configuration.seed = UInt64(try value("a number").number())
        case "device-limit": configuration.deviceLimit = try rate(&words)
        case "connection-limit": configuration.connectionLimit = try rate(&words)
        default: throw Complaint(unknown: name, "is not a setting", known: Self.settings)
        }
    }

    private enum Switch: String, CaseIterable {
        case on, off
    }

    /// `N per DURATION`
    private func rate(_ words: inout ScriptWords) throws(Complaint) -> Rate {
        let count = try words.value("how many, as in 5 per 10s").count()
        try words.expect("per", "after the number")
        return Rate(count: count, period: try words.duration())
    }

    /// `BUNDLEID [after=DURATION]`
    private mutating func topic(_ words: inout ScriptWords) throws(Complaint) {
        var topic = SimulatorConfiguration.Topic(bundleID: try words.value("a bundle ID").bundleID())
        try words.options(["after"]) { option throws(Complaint) in topic.after = try option.duration() }
        configuration.topics.append(topic)
    }

    /// `KEYID team=TEAMID [file=PATH] [environment=NAME] [topic=BUNDLEID]… [related=KEYID] [after=DURATION]
    /// [until=DURATION]`
    private func key(_ words: inout ScriptWords) throws(Complaint) -> ProviderKey {
        var key = ProviderKey(keyID: try words.value("a key ID of ten characters").identifier(), teamID: "")
        let known = ["team", "file", "environment", "topic", "related", "after", "until"]
        try words.options(known) { option throws(Complaint) in
            switch option.name {
            case "team": key.teamID = try option.identifier()
            case "file": key.publicKeyPEM = try TextFile.read(option.text, beside: file)
            case "environment": key.environment = try option.choice()
            case "topic": key.topics.append(option.text)
            case "related": key.relatedKeyID = try option.identifier()
            case "after": key.issuedAfter = try option.duration()
            default: key.revokedAfter = try option.duration()
            }
        }
        guard !key.teamID.isEmpty else { throw Complaint("the line needs team= and a team ID") }
        return key
    }

    /// `ID app=BUNDLEID [storage=none|latest]`
    private func channel(_ words: inout ScriptWords) throws(Complaint) -> ScriptChannel {
        let id = try words.next("a channel ID in base64")
        guard Base64.standard.decode(id) != nil else { throw Complaint("\"\(id)\" is not base64") }
        var channel = ScriptChannel(bundleID: "", channelID: id, policy: .mostRecentMessageStored)
        try words.options(["app", "storage"]) { option throws(Complaint) in
            if option.name == "app" {
                channel.bundleID = try option.bundleID()
            } else if try option.choice(of: Storage.self) == .none {
                channel.policy = .noMessageStored
            }
        }
        guard !channel.bundleID.isEmpty else { throw Complaint("the line needs app= and a bundle ID") }
        return channel
    }

    private enum Storage: String, CaseIterable {
        case none, latest
    }
}
