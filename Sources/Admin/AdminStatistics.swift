/// The admin server in numbers.
package struct AdminStatistics: Sendable {
    /// Open now.
    package var connections = 0
    /// Connections that were closed because they were too many or too slow.
    package var closedByLimits: UInt64 = 0

    package init() {}
}
