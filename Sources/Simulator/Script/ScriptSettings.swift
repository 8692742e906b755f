import Core

extension ScriptParser {
    static let settings = [
        "environment", "client-ca", "streams", "streams-before-token", "window", "table", "topic", "key", "public-key",
        "channel",
        "built-in-tokens", "payload-checks", "unknown-channels", "token-lifetime", "token-refresh", "seed",
        "device-limit", "connection-limit", "bad-token-limit", "error-limit",
    ]

    /// A line `set NAME VALUE`.
    mutating func set(_ words: inout ScriptWords) throws(ScriptComplaint) {
        let name = try words.next("the name of a setting")
        switch name.text {
        case "environment":
            let value = try words.next("production or development")
            configuration.environment = try Self.environment(value.text, value.column)
        case "client-ca":
            let path = try words.next("a PEM file")
            configuration.clientAuthorityPEM = try content(path.text, path.column)
        case "streams": configuration.streams = try words.number(upTo: .max)
        case "streams-before-token": configuration.streamsBeforeToken = try words.number(upTo: .max)
        case "window": configuration.initialWindow = try words.number(upTo: UInt32(Int32.max))
        case "table": configuration.headerTableSize = try words.number(upTo: 1 << 20)
        case "topic": try topic(&words)
        case "key": configuration.keys.append(try key(&words))
        case "public-key":
            let path = try words.next("a PEM file")
            configuration.publicKeyPEM = try content(path.text, path.column)
        case "channel": script.channels.append(try channel(&words))
        case "built-in-tokens": configuration.hasBuiltInTokens = try words.isOn()
        case "payload-checks": configuration.checksPayload = try words.isOn()
        case "unknown-channels": configuration.acceptsUnknownChannels = try words.isOn()
        case "token-lifetime": configuration.tokenLifetime = try words.duration("how long, as in 60m")
        case "token-refresh": configuration.tokenRefreshInterval = try words.duration("how long, as in 20m")
        case "seed": configuration.seed = UInt64(try words.number(upTo: .max))
        case "device-limit": configuration.deviceLimit = try words.rate()
        case "connection-limit": configuration.connectionLimit = try words.rate()
        case "bad-token-limit": configuration.badTokenLimit = try words.count("how many, from 1")
        case "error-limit": configuration.errorLimit = try words.count("how many, from 1")
        default: throw ScriptComplaint(name, "\"\(name.text)\" is not a setting", known: Self.settings)
        }
        try words.expectEnd()
    }

    private static func environment(_ name: String, _ column: Int) throws(ScriptComplaint) -> Environment {
        guard let environment = Environment(rawValue: name) else {
            throw ScriptComplaint(column, "an environment is production or development, not \"\(name)\"")
        }
        return environment
    }

    private func content(_ path: String, _ column: Int) throws(ScriptComplaint) -> String {
        do {
            return try TextFile.read(path, beside: file)
        } catch {
            throw ScriptComplaint(column, error.message)
        }
    }

    /// `BUNDLEID [after=DURATION]`
    private mutating func topic(_ words: inout ScriptWords) throws(ScriptComplaint) {
        let bundleID = try words.bundleID()
        guard let option = try words.option() else { return configuration.topics.append(bundleID) }
        guard option.name == "after" else { throw option.unknown(["after"]) }
        configuration.laterTopics.append(LaterTopic(bundleID, after: try option.duration()))
    }

    /// `KEYID team=TEAMID [file=PATH] [environment=NAME] [topic=BUNDLEID]… [related=KEYID] [after=DURATION]
    /// [until=DURATION]`
    private func key(_ words: inout ScriptWords) throws(ScriptComplaint) -> ProviderKey {
        let id = try words.next("a key ID of ten characters")
        guard id.text.utf8.count == 10 else { throw ScriptComplaint(id.column, "a key ID has ten characters") }
        var key = ProviderKey(keyID: id.text, teamID: "")
        while let option = try words.option() {
            switch option.name {
            case "team":
                guard option.value.utf8.count == 10 else {
                    throw ScriptComplaint(option.column, "a team ID has ten characters")
                }
                key.teamID = option.value
            case "file": key.publicKeyPEM = try content(option.value, option.column)
            case "environment": key.environment = try Self.environment(option.value, option.column)
            case "topic": key.topics.append(option.value)
            case "related":
                guard option.value.utf8.count == 10 else {
                    throw ScriptComplaint(option.column, "a key ID has ten characters")
                }
                key.relatedKeyID = option.value
            case "after": key.issuedAfter = try option.duration()
            case "until": key.revokedAfter = try option.duration()
            default: throw option.unknown(["team", "file", "environment", "topic", "related", "after", "until"])
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
        guard RequestRules.isBase64(Array(id.text.utf8)) else {
            throw ScriptComplaint(id.column, "a channel ID is base64")
        }
        var channel = ScriptChannel(bundleID: "", channelID: id.text, policy: .mostRecentMessageStored)
        while let option = try words.option() {
            switch option.name {
            case "app": channel.bundleID = option.value
            case "storage":
                switch option.value {
                case "none": channel.policy = .noMessageStored
                case "latest": channel.policy = .mostRecentMessageStored
                default: throw ScriptComplaint(option.column, "storage is none or latest, not \"\(option.value)\"")
                }
            default: throw option.unknown(["app", "storage"])
            }
        }
        guard Array(channel.bundleID.utf8)[...].isBundleID else {
            throw ScriptComplaint(words.column, "here the line needs app= and a bundle ID")
        }
        return channel
    }
}

extension ScriptWords {
    fileprivate mutating func number(upTo limit: UInt32) throws(ScriptComplaint) -> UInt32 {
        let word = try next("a number")
        return try ScriptOption(name: "this", value: word.text, column: word.column).number(upTo: limit)
    }

    /// `N per DURATION`
    fileprivate mutating func rate() throws(ScriptComplaint) -> Rate {
        let count = try count("how many, as in 5 per 10s")
        try expect("per", "after the number")
        return Rate(count, per: try duration("how long, as in 10s"))
    }

    fileprivate mutating func bundleID() throws(ScriptComplaint) -> String {
        let word = try next("a bundle ID")
        guard Array(word.text.utf8)[...].isBundleID else {
            throw ScriptComplaint(word.column, "\"\(word.text)\" is not a bundle ID")
        }
        return word.text
    }

    fileprivate mutating func isOn() throws(ScriptComplaint) -> Bool {
        let word = try next("on or off")
        switch word.text {
        case "on": return true
        case "off": return false
        default: throw ScriptComplaint(word.column, "here the line needs on or off, not \"\(word.text)\"")
        }
    }
}
