package import Monitoring

extension World {
    /// The control thread's view of the running workers.
    package func processSnapshot(_ credentials: [ProcessSnapshot.Credential] = []) -> ProcessSnapshot {
        ProcessSnapshot(
            workers: running.map {
                ProcessSnapshot.Worker(
                    snapshot: $0.snapshot(at: moment), silence: .zero, isAlive: true, hasEnded: false)
            }, credentials: credentials, at: moment)
    }
}
