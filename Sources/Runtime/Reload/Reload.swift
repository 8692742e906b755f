package import Configuration

/// A configuration that replaces another one at run time.
package struct Reload {
    package private(set) var configuration: Configuration
    /// The keys that have changed and need a restart; their old values stay in force.
    package private(set) var needsRestart: [StaticString] = []

    package init(_ new: Configuration, after old: Configuration) {
        configuration = new
        // ``SecretWatch`` renews it.
        if new.broker.passwordFile == old.broker.passwordFile { configuration.broker.password = old.broker.password }
        keep(\.broker, of: old, "broker")
        keep(\.queues, of: old, "queues")
        keep(\.decoders, of: old, "decoders")
        keep(\.workers, of: old, "workers")
        keep(\.admin, of: old, "admin")
        keep(\.tracing, of: old, "tracing")
        keep(\.log.format, of: old, "log.format")
    }

    private mutating func keep<Value: Equatable>(
        _ path: WritableKeyPath<Configuration, Value>, of old: Configuration, _ key: StaticString
    ) {
        guard configuration[keyPath: path] != old[keyPath: path] else { return }
        configuration[keyPath: path] = old[keyPath: path]
        needsRestart.append(key)
    }
}
