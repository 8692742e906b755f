/// The admin server's metrics.
package struct AdminStatistics: Sendable {
    /// Open now.
    package var connections = 0
    /// Connections closed because of the limits: too many or too slow.
    package var closedByLimits: UInt64 = 0

    /// Responses by page and status. Unknown pages are counted together, so that clients cannot grow the table.
    package var requests: [Response: UInt64] = [:]

    package struct Response: Hashable, Sendable {
        /// One of the pages' paths, or ``other``.
        package let page: String
        package let status: UInt32

        package init(page: String, status: UInt32) {
            self.page = page
            self.status = status
        }
    }

    /// The page of requests for unknown paths.
    package static let other = "other"

    package init() {}
}
