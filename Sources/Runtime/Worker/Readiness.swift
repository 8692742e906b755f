/// Whether a worker can do its work, and whether it ever could.
struct Readiness {
    var isPublisherOpen = false
    private var isReady = false
    private(set) var wasReady = false

    /// - Returns: whether that is a change.
    mutating func update(_ ready: Bool) -> Bool {
        guard ready != isReady else { return false }
        isReady = ready
        wasReady = wasReady || ready
        return true
    }
}
