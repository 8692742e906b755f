/// The cost of one class of faults.
struct LedgerRow: CustomStringConvertible {
    var fault: String
    /// Requests; each is counted once in all of these.
    var published = 0
    var results = 0
    var deadLetters = 0
    /// In a request queue or a retry queue.
    var queued = 0
    var lost = 0
    /// Notifications that a device received again, and results beyond the first.
    var duplicatePushes = 0
    var duplicateResults = 0

    private var numbers: [Int] {
        [published, results, deadLetters, queued, lost, duplicatePushes, duplicateResults]
    }

    var description: String {
        """
        \(fault): \(published) published, results \(results), dead letters \(deadLetters), queued \(queued), lost \
        \(lost); duplicate pushes \(duplicatePushes), duplicate results \(duplicateResults)
        """
    }

    /// A Markdown table with the totals in its last line.
    static func table(_ rows: [LedgerRow]) -> String {
        var sum = LedgerRow(fault: "all")
        for row in rows {
            sum.published += row.published
            sum.results += row.results
            sum.deadLetters += row.deadLetters
            sum.queued += row.queued
            sum.lost += row.lost
            sum.duplicatePushes += row.duplicatePushes
            sum.duplicateResults += row.duplicateResults
        }
        let head = """
            | fault | published | with a result | dead letters | still queued | lost | duplicate notifications | \
            duplicate results |
            |---|--:|--:|--:|--:|--:|--:|--:|

            """
        return head
            + (rows + [sum]).map { row in
                "| \(row.fault) | \(row.numbers.map(String.init).joined(separator: " | ")) |\n"
            }.joined()
    }
}
