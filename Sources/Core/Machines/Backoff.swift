/// The delay before the next attempt: exponential, with full jitter.
///
/// The n-th delay is drawn uniformly from zero to `base * 2^n`, at most `limit`, so that clients that failed together
/// do not retry together. Source: "Exponential Backoff And Jitter", AWS Architecture Blog.
package struct Backoff: Sendable {
    /// The maximum of the first delay.
    package let base: Duration
    /// The maximum of all delays.
    package let limit: Duration
    /// The number of delays drawn since the last ``reset()``.
    package private(set) var attempts = 0

    package init(base: Duration = .milliseconds(500), limit: Duration = .seconds(30)) {
        precondition(base > .zero && limit >= base, "a backoff has a positive base that is within its limit")
        self.base = base
        self.limit = limit
    }

    package var ceiling: Duration {
        base.doubled(attempts, atMost: limit)
    }

    package mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        let longest = ceiling.nanoseconds
        attempts += 1
        return .nanoseconds(Int64.random(in: 0...longest, using: &random))
    }

    package mutating func reset() {
        attempts = 0
    }
}

extension Duration {
    /// This duration times 2^`times`, at most `limit`.
    package func doubled(_ times: Int, atMost limit: Duration) -> Duration {
        let product = nanoseconds.multipliedReportingOverflow(by: 1 << Int64(min(times, 40)))
        return product.overflow ? limit : min(limit, .nanoseconds(product.partialValue))
    }
}
