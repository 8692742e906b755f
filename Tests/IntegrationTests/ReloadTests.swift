import Foundation
import Glibc
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// `harebell run` and SIGHUP; see `docs/operate/configuration.md`.
    @Suite("Reload")
    struct ReloadTests {
        @Test("A wrong file changes nothing, and every error is reported with file, line and column")
        func wrongFile() throws {
            let stage = try Stage(script: "")
            let worker = try stage.start()
            let file = try stage.write()
            let good = try String(contentsOfFile: file, encoding: .utf8)
            try stage.directory.write(
                good.replacing("workers: 1", with: "workers: many\nwurkers: 1"), to: "harebell.yaml")
            worker.signal(SIGHUP)
            let line = try worker.waitForLine(.errors) { $0.contains("was not reloaded") && $0.contains("wurkers") }
            #expect(line.contains("\(file):"))
            try worker.waitForLine(.errors) { $0.contains("was not reloaded") && $0.contains("workers: ") }
            try stage.exchange(1)
            #expect(!worker.text(.errors).contains(" notice reloaded"))
            try worker.end()
        }

        @Test(
            "An app paused for a wrong key resumes when the file names the right one, with a signal or without",
            arguments: [true, false])
        func resumes(isTold: Bool) throws {
            let stage = try Stage(script: "")
            let wrong = try stage.directory.write(SigningKey.generate().pkcs8PEM, to: "Wrong.p8")
            let worker = try stage.start(.init(keyFile: wrong))
            try stage.client.publish((0..<20).map { stage.requests.message($0, to: stage.quorumQueue) })
            try worker.waitForLine(.errors) { $0.contains("APNs refuses the credential of this app") }
            try stage.write()
            if isTold { worker.signal(SIGHUP) }
            var accepted = 0
            try stage.client.consume([stage.resultQueue]) { delivery in
                if try Conservation.Result(delivery).outcome == "accepted" { accepted += 1 }
                return accepted == 20
            }
            try worker.end()
        }
    }
}
