/// How long to wait before the next attempt: exponential, with full jitter.
///
/// The n-th wait is drawn evenly from zero to `base * 2^n`, at most `limit`, so that clients that failed together do
/// not come back together. Source: "Exponential Backoff And Jitter", AWS Architecture Blog.
package struct Backoff: Sendable {
    /// The longest first wait.
    package let base: Duration
    /// No wait is longer.
    package let limit: Duration
    /// How many waits were drawn since the last ``reset()``.
    package private(set) var attempts = 0

    /// Waits of at most `base` at first, of at most `limit` in the end.
    package init(base: Duration = .milliseconds(500), limit: Duration = .seconds(30)) {
        precondition(base > .zero && limit >= base, "a backoff has a positive base that is within its limit")
        self.base = base
        self.limit = limit
    }

    /// The upper end of the next draw.
    package var ceiling: Duration {
        base.doubled(attempts, atMost: limit)
    }

    /// Draws the next wait.
    package mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        let longest = ceiling.nanoseconds
        attempts += 1
        return .nanoseconds(Int64.random(in: 0...longest, using: &random))
    }

    /// Forgets the failures: an attempt succeeded.
    package mutating func reset() {
        attempts = 0
    }
}

extension Duration {
    /// This duration times two to the power of `times`, at most `limit`.
    package func doubled(_ times: Int, atMost limit: Duration) -> Duration {
        let product = nanoseconds.multipliedReportingOverflow(by: 1 << Int64(min(times, 40)))
        return product.overflow ? limit : min(limit, .nanoseconds(product.partialValue))
    }
}
