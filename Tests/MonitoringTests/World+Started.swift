import SimulatedWorld

@testable import Configuration

extension World {
    /// A world whose worker has started.
    static func started(
        script: String = "", declares: [String] = queues, configure: (inout Configuration) -> Void = { _ in }
    ) throws -> World {
        let world = try World(script: script, declares: declares, configure: configure)
        try world.start()
        return world
    }
}
