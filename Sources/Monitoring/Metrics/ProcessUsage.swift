package import Core

/// The kernel's figures about this process, as in Prometheus' client libraries. Missing figures are `nil`.
///
/// Source: proc(5); prometheus.io/docs/instrumenting/writing_clientlibs, "Process metrics".
package struct ProcessUsage: Equatable, Sendable {
    /// In user and in system mode.
    package var cpu: Duration?
    package var residentBytes: Int?
    package var openDescriptors: Int?
    package var maximumDescriptors: Int?
    package var startedAt: WallTime?

    package init() {}

    /// The units of the kernel's figures.
    struct Units: Sendable {
        /// `sysconf(_SC_CLK_TCK)`.
        let ticksPerSecond: Int64
        /// `sysconf(_SC_PAGESIZE)`, in bytes.
        let page: Int64
    }

    /// The figures from `/proc/self/stat`.
    struct Status: Equatable {
        let cpu: Duration
        /// From the system's start to the start of the process.
        let begin: Duration
        let residentBytes: Int

        /// - Parameter text: one line. The program's name, in parentheses, may contain spaces and parentheses.
        init?(_ text: [UInt8], _ units: Units) {
            guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
            // The first of these is the third field, "state".
            let fields = text[(end + 1)...].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
            func field(_ number: Int) -> Int64? {
                fields.count > number - 3 ? Int64(String(decoding: fields[number - 3], as: UTF8.self)) : nil
            }
            guard let user = field(14), let system = field(15), let begin = field(22),
                let pages = field(24), let cpu = Self.duration(user &+ system, units),
                let begin = Self.duration(begin, units)
            else { return nil }
            let resident = pages.multipliedReportingOverflow(by: units.page)
            guard pages >= 0, !resident.overflow else { return nil }
            self.cpu = cpu
            self.begin = begin
            residentBytes = Int(resident.partialValue)
        }

        private static func duration(_ ticks: Int64, _ units: Units) -> Duration? {
            guard ticks >= 0 else { return nil }
            let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: units.ticksPerSecond)
            // Duration could hold more, but callers convert it to nanoseconds in 64 bits.
            guard seconds < Int64.max / 1_000_000_000 else { return nil }
            return .seconds(seconds) + .nanoseconds(rest * 1_000_000_000 / units.ticksPerSecond)
        }
    }

    /// The soft limit of file descriptors in `/proc/self/limits`; `nil` if it is missing.
    static func descriptorLimit(in text: [UInt8]) -> Int? {
        let name = "Max open files"
        for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: name.utf8) {
            let first = line.dropFirst(name.utf8.count).split(separator: UInt8(ascii: " ")).first
            return first.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
        }
        return nil
    }
}
