package import Core
import Glibc
import System

/// The kernel's figures about this process, as in Prometheus' client libraries. Missing figures are `nil`.
///
/// Source: prometheus.io/docs/instrumenting/writing_clientlibs, "Process metrics".
package struct ProcessUsage: Equatable, Sendable {
    /// In user and in system mode.
    package var cpu: Duration?
    package var residentBytes: Int?
    package var openDescriptors: Int?
    package var maximumDescriptors: Int?
    package var startedAt: WallTime?

    package init() {}
}

/// Reads ``ProcessUsage``. Files only from `/proc/self`: the systemd unit hides everything else.
package struct ProcessMeter {
    /// The kernel's text is far shorter.
    private static let longestText = 4096

    private let page = max(1, sysconf(Int32(_SC_PAGESIZE)))
    private let startedAt: WallTime

    /// - Parameter now: the start of the process.
    package init(at now: Moment) {
        startedAt = now.wall
    }

    package func read() -> ProcessUsage {
        var usage = ProcessUsage()
        usage.startedAt = startedAt
        usage.cpu = SystemClock.processorTime()
        usage.residentBytes = residentPages.map { $0 * page }
        var limit = rlimit()
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            usage.maximumDescriptors = Int(exactly: limit.rlim_cur)
        }
        // One of them is open because of the count itself.
        usage.openDescriptors = (try? Folder.count("/proc/self/fd")).map { $0 - 1 }
        return usage
    }

    /// Source: proc(5), `/proc/pid/statm`.
    private var residentPages: Int? {
        guard let text = try? WholeFile.read("/proc/self/statm", upTo: Self.longestText) else { return nil }
        let fields = text.split(separator: UInt8(ascii: " "))
        return fields.count > 1 ? Int(String(decoding: fields[1], as: UTF8.self)) : nil
    }
}
