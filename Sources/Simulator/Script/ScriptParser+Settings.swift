import Core

extension ScriptParser {
    static let settings = [
        "environment", "client-ca", "streams", "streams-before-token", "window", "table", "topic", "key", "public-key",
        "channel",
        "built-in-tokens", "payload-checks", "unknown-channels", "token-lifetime", "token-refresh", "seed",
        "device-limit", "connection-limit", "bad-token-limit", "error-limit",
    ]

    /// The rest of a line `set NAME VALUE`.
    mutating func set(_ words: inout ScriptWords) throws(ScriptComplaint) {
        let name = try words.next("the name of a setting")
        func value(_ wanted: String) throws(ScriptComplaint) -> ScriptWord { try words.next(wanted, name: name.text) }
        func isOn() throws(ScriptComplaint) -> Bool { try value("on or off").choice(of: ScriptSwitch.self) == .on }
        func number(upTo limit: UInt32 = .max) throws(ScriptComplaint) -> UInt32 {
            try value("a number").number(upTo: limit)
        }
        switch name.text {
        case "environment": configuration.environment = try value("production or development").choice()
        case "client-ca": configuration.clientAuthorityPEM = try content(value("a PEM file"))
        case "streams": configuration.streams = try number()
        case "streams-before-token": configuration.streamsBeforeToken = try number()
        case "window": configuration.initialWindow = try number(upTo: UInt32(Int32.max))
        case "table": configuration.headerTableSize = try number(upTo: 1 << 20)
        case "topic": try topic(&words)
        case "key": configuration.keys.append(try key(&words))
        case "public-key": configuration.publicKeyPEM = try content(value("a PEM file"))
        case "channel": script.channels.append(try channel(&words))
        case "built-in-tokens": configuration.hasBuiltInTokens = try isOn()
        case "payload-checks": configuration.checksPayload = try isOn()
        case "unknown-channels": configuration.acceptsUnknownChannels = try isOn()
        case "token-lifetime": configuration.tokenLifetime = try words.duration()
        case "token-refresh": configuration.tokenRefreshInterval = try words.duration()
        case "seed": configuration.seed = UInt64(try number())
        case "device-limit": configuration.deviceLimit = try rate(&words)
        case "connection-limit": configuration.connectionLimit = try rate(&words)
        case "bad-token-limit": configuration.badTokenLimit = try value("how many, from 1").count()
        case "error-limit": configuration.errorLimit = try value("how many, from 1").count()
        default: throw name.unknown("is not a setting", known: Self.settings)
        }
    }

    private func content(_ path: ScriptWord) throws(ScriptComplaint) -> String {
        do {
            return try TextFile.read(path.text, beside: file)
        } catch {
            throw path.complaint(error.message)
        }
    }

    /// `N per DURATION`
    private func rate(_ words: inout ScriptWords) throws(ScriptComplaint) -> Rate {
        let count = try words.next("how many, as in 5 per 10s").count()
        try words.expect("per", "after the number")
        return Rate(count, per: try words.duration())
    }

    /// `BUNDLEID [after=DURATION]`
    private mutating func topic(_ words: inout ScriptWords) throws(ScriptComplaint) {
        let bundleID = try words.next("a bundle ID").bundleID()
        var after: Duration?
        try words.options(["after"]) { option throws(ScriptComplaint) in after = try option.duration() }
        if let after {
            configuration.laterTopics.append(LaterTopic(bundleID, after: after))
        } else {
            configuration.topics.append(bundleID)
        }
    }

    /// `KEYID team=TEAMID [file=PATH] [environment=NAME] [topic=BUNDLEID]… [related=KEYID] [after=DURATION]
    /// [until=DURATION]`
    private func key(_ words: inout ScriptWords) throws(ScriptComplaint) -> ProviderKey {
        var key = ProviderKey(keyID: try words.next("a key ID of ten characters").identifier("key"), teamID: "")
        let known = ["team", "file", "environment", "topic", "related", "after", "until"]
        try words.options(known) { option throws(ScriptComplaint) in
            switch option.name {
            case "team": key.teamID = try option.identifier("team")
            case "file": key.publicKeyPEM = try content(option)
            case "environment": key.environment = try option.choice()
            case "topic": key.topics.append(option.text)
            case "related": key.relatedKeyID = try option.identifier("key")
            case "after": key.issuedAfter = try option.duration()
            default: key.revokedAfter = try option.duration()
            }
        }
        guard !key.teamID.isEmpty else {
            throw ScriptComplaint(words.column, "here the line needs team= and a team ID")
        }
        return key
    }

    /// `ID app=BUNDLEID [storage=none|latest]`
    private func channel(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptChannel {
        let id = try words.next("a channel ID in base64")
        // The ID may end with the "=" of base64, so it can look like an option.
        guard RequestRules.isBase64(Array(id.text.utf8)) else { throw id.complaint("a channel ID is base64") }
        var channel = ScriptChannel(bundleID: "", channelID: id.text, policy: .mostRecentMessageStored)
        try words.options(["app", "storage"]) { option throws(ScriptComplaint) in
            switch option.name {
            case "app": channel.bundleID = try option.bundleID()
            default:
                let storage = try option.choice(of: ScriptStorage.self)
                channel.policy = storage == .none ? .noMessageStored : .mostRecentMessageStored
            }
        }
        guard !channel.bundleID.isEmpty else {
            throw ScriptComplaint(words.column, "here the line needs app= and a bundle ID")
        }
        return channel
    }
}

private enum ScriptStorage: String, CaseIterable {
    case none, latest
}
