/// The admin server in numbers.
package struct AdminStatistics: Sendable {
    /// Open now.
    package var connections = 0
    /// Connections that were closed because they were too many or too slow.
    package var closedByLimits: UInt64 = 0

    /// Answers by page and status: a table, and what is not in it counts as one, so that no client makes it long.
    package var requests: [Answer: UInt64] = [:]

    package struct Answer: Hashable, Sendable {
        /// One of the pages' paths, or ``other``.
        package let page: String
        package let status: UInt32

        package init(page: String, status: UInt32) {
            self.page = page
            self.status = status
        }
    }

    /// The page of a request for one that is not there.
    package static let other = "other"

    package init() {}
}
