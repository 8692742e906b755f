package import Core
import Glibc
import System

/// Reads the kernel's figures about this process from `/proc`.
///
/// Only from `/proc/self`: the systemd unit hides everything else.
package struct ProcessMeter {
    /// The kernel's texts are far shorter.
    private static let longestText = 65_536

    private let units = ProcessUsage.Units(
        ticksPerSecond: Int64(max(1, sysconf(Int32(_SC_CLK_TCK)))), page: Int64(max(1, sysconf(Int32(_SC_PAGESIZE)))))
    /// Determined once, so that clock changes do not affect it.
    private let startedAt: WallTime?

    package init(at now: Moment) {
        startedAt = Self.status(units).map {
            let age = SystemClock.sinceBoot() - $0.begin
            return WallTime(milliseconds: now.wall.milliseconds - age.nanoseconds / 1_000_000)
        }
    }

    package func read() -> ProcessUsage {
        var usage = ProcessUsage()
        usage.startedAt = startedAt
        if let status = Self.status(units) {
            usage.cpu = status.cpu
            usage.residentBytes = status.residentBytes
        }
        usage.maximumDescriptors = Self.text("limits").flatMap(ProcessUsage.descriptorLimit)
        // One of them is open because of the count itself.
        usage.openDescriptors = (try? Folder.count("/proc/self/fd")).map { $0 - 1 }
        return usage
    }

    private static func status(_ units: ProcessUsage.Units) -> ProcessUsage.Status? {
        text("stat").flatMap { ProcessUsage.Status($0, units) }
    }

    private static func text(_ name: String) -> [UInt8]? {
        try? WholeFile.read("/proc/self/\(name)", upTo: longestText)
    }
}
