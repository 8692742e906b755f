package import Core
import Glibc

/// Runs programs as processes, on a loop and its sockets.
///
/// Deinitialization kills all running processes.
package final class ProgramRunner: ProgramHost {
    /// The longest time for a process's output to arrive after its end, and for a process to run after closing its
    /// output.
    static let exitGracePeriod = Duration.seconds(1)

    unowned let loop: EventLoop
    let network: SocketNetwork
    /// Without the program if it was stopped before it started.
    private var wanted: [(program: Program?, engine: any ProgramEngine)] = []
    private var running: [RunningProgram] = []

    /// Joins the loop of `network`, which then owns it.
    package init(_ network: SocketNetwork) {
        self.network = network
        loop = network.loop
        loop.add(self)
    }

    deinit {
        for program in running { program.kill() }
    }

    package func start(_ program: Program, _ engine: any ProgramEngine) {
        wanted.append((program, engine))
        loop.requestTurn()
    }

    package func stop(_ engine: any ProgramEngine, within grace: Duration) {
        if let index = wanted.firstIndex(where: { $0.engine === engine }) { wanted[index].program = nil }
        running.first { $0.engine === engine }?.stop(within: grace, at: loop.now)
    }

    func ended(_ program: RunningProgram) {
        running.removeAll { $0 === program }
        loop.requestTurn()
    }
}

extension ProgramRunner: LoopParticipant {
    package var nextDeadline: Instant? {
        running.compactMap(\.deadline).min()
    }

    package func expire(at now: Moment) {
        for program in running { program.deadlinePassed(at: now) }
    }

    package func flush(at now: Moment) {
        guard !wanted.isEmpty else { return }
        let begun = wanted
        wanted = []
        for (program, engine) in begun {
            guard let program else {
                engine.transportClosed(nil, at: now.instant)
                loop.requestTurn()
                continue
            }
            do throws(SystemError) {
                running.append(try RunningProgram(program, engine, self))
            } catch {
                engine.transportClosed(TransportError("cannot start \(program.name)", error), at: now.instant)
                loop.requestTurn()
            }
        }
    }
}
