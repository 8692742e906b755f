import Core
package import Monitoring

extension World {
    /// The control thread's view of the running workers.
    package func processSnapshot(_ credentials: [ProcessSnapshot.Credential] = []) -> ProcessSnapshot {
        let now = moment.instant
        var watch = WorkerWatch(workers: running.count, at: now)
        for index in watch.want(at: now) { watch.responded(index, running[index].snapshot(at: moment), at: now) }
        return ProcessSnapshot(workers: watch.seen(at: now), credentials: credentials, at: moment)
    }
}
