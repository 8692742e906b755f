/// Whether a worker is ready, and whether it ever was.
struct WorkerReadiness {
    var isPublisherOpen = false
    private var isReady = false
    private(set) var wasReady = false

    /// - Returns: whether the state changed.
    mutating func update(_ ready: Bool) -> Bool {
        guard ready != isReady else { return false }
        isReady = ready
        wasReady = wasReady || ready
        return true
    }
}
