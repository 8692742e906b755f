import AMQP
import Glibc
import Simulator
import TestSupport
import Testing

/// Every class of faults that one machine can produce.
extension Fault {
    static var all: [Fault] {
        workers + broker + queues + apns + publishes + [everything]
    }

    private static let held = FaultScene.held

    private static func accepted(_ scene: FaultScene, _ end: Conservation) {
        #expect(end.outcomes == ["accepted": end.count])
    }

    // MARK: The worker

    private static var workers: [Fault] {
        var none = Fault(name: "no fault")
        none.check = accepted

        // Only the dead worker knew which of its unsettled requests it had sent.
        var kill = Fault(name: "worker: SIGKILL")
        kill.blow = { try $0.run.killWorker() }
        kill.limits = { FaultRun.Limits(duplicatePushes: $0.blows * held, duplicateResults: $0.blows * held) }

        var drain = Fault(name: "worker: SIGTERM")
        drain.blow = { try $0.run.replaceWorker() }
        drain.check = accepted
        return [none, kill, drain]
    }

    // MARK: Broker and network

    private static var broker: [Fault] {
        // The worker recognises redeliveries of the requests that it has sent.
        let resultsOnly = { (scene: FaultScene) in FaultRun.Limits(duplicateResults: scene.blows * held) }

        var reset = Fault(name: "broker: connections reset")
        reset.settings = { $1.broker = $0.relayedBroker }
        reset.blow = { $0.brokerRelay.reset() }
        reset.limits = resultsOnly

        var halfOpen = Fault(name: "broker: connections half-open")
        halfOpen.settings = {
            $1.broker = $0.relayedBroker
            $1.moreBroker = "heartbeat_seconds: 1"
        }
        halfOpen.blow = { $0.brokerRelay.loseTarget() }
        halfOpen.limits = resultsOnly

        var blackHole = halfOpen
        blackHole.name = "broker: black hole"
        blackHole.blow = { try $0.blackHole($0.brokerRelay, connects: 2) }
        // The worker notices it after 15 seconds.
        blackHole.interval = 6000

        var restart = Fault(name: "broker: stopped and started", interval: 2000)
        restart.blow = {
            try $0.broker.stop()
            try $0.broker.start()
        }
        restart.limits = resultsOnly

        var kill = restart
        kill.name = "broker: SIGKILL"
        kill.blow = {
            try $0.broker.kill()
            try $0.broker.start()
        }

        // The broker forgets unwritten acknowledgements, and that it had delivered their messages: they are delivered
        // as new. How many depends on its disk.
        kill.limits = { FaultRun.Limits(duplicatePushes: $0.run.load.count, duplicateResults: $0.run.load.count) }

        var alarm = Fault(name: "broker: memory alarm", interval: 2000)
        alarm.blow = { try $0.alarm() }
        alarm.check = accepted
        return [reset, halfOpen, blackHole, restart, kill, alarm]
    }

    // MARK: Queues

    private static var queues: [Fault] {
        var delete = Fault(name: "queues deleted, consumers cancelled")
        delete.blow = { try $0.deleteQueues() }
        delete.check = { scene, _ in
            #expect(scene.run.worker.text(.errors).contains("the broker cancelled the consumer"))
        }

        // Every 25th is held for longer than the broker allows.
        var timeout = Fault(name: "channels closed by the consumer timeout")
        timeout.script = "token 51*: delay 3s\ntoken *: delay 20ms..200ms"
        timeout.prepare = { try $0.setConsumerTimeout(.seconds(1)) }
        timeout.load = { _, load in
            load.change = { index, message in
                if index % 25 == 7 { message.body = ArraySlice(Requests.body(index, beginning: "51").utf8) }
            }
        }
        timeout.check = { scene, _ in
            // Where the broker follows the worker's own timeout, two hours, its own one closes nothing.
            #expect(scene.run.worker.text(.errors).contains("timed out") != TestEnvironment.followsConsumerTimeouts)
            try scene.setConsumerTimeout(.seconds(1800))
        }

        var poison = Fault(name: "poison: no requests, and a worker that dies in a loop")
        poison.load = { _, load in
            load.change = { index, message in
                if index % 10 == 3 { message.body = ArraySlice("no request \(index)".utf8) }
            }
        }
        poison.blow = { scene in for _ in 0..<3 { try scene.run.killWorker() } }
        poison.limits = {
            FaultRun.Limits(duplicatePushes: 3 * $0.blows * held, duplicateResults: 3 * $0.blows * held)
        }
        poison.check = { scene, end in
            let garbage = (0..<end.count).filter { $0 % 10 == 3 }
            #expect(Set(garbage).isSubset(of: end.deadLetters.keys))
        }
        return [delete, timeout, poison]
    }

    // MARK: APNs and its network

    private static var apns: [Fault] {
        // Whether APNs processed an open request is unknown: it is sent again.
        let uncertain = { (scene: FaultScene) in
            FaultRun.Limits(duplicatePushes: try scene.run.total("uncertain"))
        }

        // Streams above the last-stream-id were certainly not processed.
        // A pool opens at most 30 connections in a minute, so there are few strikes.
        var goaways = Fault(name: "APNs: GOAWAY on every connection, after 150 requests", interval: 1500)
        goaways.script = "token *: delay 20ms..200ms\nafter 150 requests: goaway Shutdown last=before"
        goaways.blow = { scene in
            var none = ScriptGoaway(reason: "Shutdown")
            none.last = .none
            var twoSteps = ScriptGoaway()
            twoSteps.announcedBy = .milliseconds(50)
            scene.stage.simulator.applyFaults([.goaway(none)])
            scene.stage.simulator.applyFaults([.goaway(twoSteps)])
        }
        goaways.check = { scene, end in
            accepted(scene, end)
            #expect(scene.stage.simulator.ledger.statistics.ceded > 0)
            let uncertain = try scene.run.total("uncertain")
            #expect(uncertain == 0)
        }

        var cut = Fault(name: "APNs: connections cut")
        cut.blow = { $0.stage.simulator.applyFaults([.cut]) }
        cut.limits = uncertain
        cut.check = accepted

        var reset = cut
        reset.name = "APNs: connections reset"
        reset.settings = { $1.apnsPort = $0.apnsRelay.port }
        reset.blow = { $0.apnsRelay.reset() }

        var blackHole = reset
        blackHole.name = "APNs: black hole"
        blackHole.blow = { try $0.blackHole($0.apnsRelay, connects: 1) }
        blackHole.interval = 2000

        var refused = Fault(name: "APNs: REFUSED_STREAM")
        refused.script = "token *: delay 20ms..200ms\nevery 10 requests: rst REFUSED_STREAM"
        refused.check = accepted

        var busy = Fault(name: "APNs: 429, 500, 503 through retry queues")
        busy.script = """
            attempt 1, every 20 requests: 429 TooManyRequests
            attempt 1, every 25 requests: 500 InternalServerError
            attempt 1, every 30 requests: 503 ServiceUnavailable
            token *: delay 20ms..200ms
            """
        busy.check = accepted

        var busyKill = busy
        busyKill.name = "APNs: 429, 500, 503, and SIGKILL of the worker"
        busyKill.blow = { try $0.run.killWorker() }
        busyKill.check = { _, _ in }
        busyKill.limits = { FaultRun.Limits(duplicatePushes: $0.blows * held, duplicateResults: $0.blows * held) }
        return [goaways, cut, reset, blackHole, refused, busy, busyKill]
    }

    // MARK: Publishes

    private static var publishes: [Fault] {
        var returned = Fault(name: "results returned: no reply queue")
        returned.load = { _, load in
            load.isUndeliverable = { $0 % 10 == 5 }
            load.change = { [isUndeliverable = load.isUndeliverable] index, message in
                if isUndeliverable(index) { message.properties.replyTo = Array("harebell-test-missing".utf8) }
            }
        }
        returned.check = { scene, end in
            #expect(Set(end.deadLetters.keys) == Set((0..<end.count).filter { $0 % 10 == 5 }))
        }

        // RabbitMQ 3 closes the connection over each of them, RabbitMQ 4 drops the result.
        var closing = Fault(name: "connections closed over a publish")
        closing.load = { _, load in
            load.isUndeliverable = { $0 % 400 == 5 }
            load.change = { [isUndeliverable = load.isUndeliverable] index, message in
                guard isUndeliverable(index) else { return }
                message.properties.replyTo = Array(DirectReplies.name(node: "reply@\(index)").utf8)
            }
        }
        closing.limits = { FaultRun.Limits(duplicateResults: ($0.run.load.count / 400 + 1) * held) }
        closing.check = { scene, end in
            #expect(Set(end.deadLetters.keys) == Set((0..<end.count).filter { $0 % 400 == 5 }))
            let log = scene.run.worker.text(.errors)
            #expect(log.contains("one publish makes the broker close the connection"))
        }
        return TestEnvironment.closesOverDirectReplies ? [returned, closing, forged] : [returned, forged]
    }

    /// Every tenth message has the header of a stream's message. Every tenth is invalid, with properties that would
    /// make its dead letter expire, go to more queues, or close the channel.
    private static var forged: Fault {
        var forged = Fault(name: "forged headers and properties")
        forged.load = { stage, load in
            let copies = FieldValue.array([.string(copies(stage))])
            load.change = { index, message in
                if index % 10 == 2 { message.properties.headers = ["x-stream-offset": .int64(7)] }
                guard index % 10 == 5 else { return }
                message.properties.headers = ["CC": copies, "BCC": copies]
                message.properties.userID = Array("guest".utf8)
                message.properties.expiration = Array("3600000".utf8)
                message.body = Array("no request".utf8)[...]
            }
        }
        forged.prepare = { try $0.stage.client.declare(copies($0.stage)) }
        forged.check = { scene, end in
            let bad = Set((0..<end.count).filter { $0 % 10 == 5 })
            #expect(end.outcomes == ["accepted": end.count - bad.count, "invalid": bad.count])
            #expect(Set(end.deadLetters.keys) == bad)
            #expect(!scene.run.worker.text(.errors).contains("connection is lost"), "\(scene.run.worker.report)")
            let taken = try scene.stage.client.takeAll(copies(scene.stage))
            #expect(taken.count == bad.count, "of the requests, not the dead letters")
        }
        return forged
    }

    private static func copies(_ stage: Stage) -> String { "\(stage.name).copies" }

    // MARK: Sequences

    private static var everything: Fault {
        var all = Fault(name: "cut, restart, SIGKILL, GOAWAY, alarm, SIGKILL of the broker in a row", interval: 4000)
        all.blow = { scene in
            var goaway = ScriptGoaway(reason: "Shutdown")
            goaway.last = .none
            scene.stage.simulator.applyFaults([.cut])
            try scene.broker.stop()
            try scene.broker.start()
            try scene.run.killWorker()
            scene.stage.simulator.applyFaults([.goaway(goaway)])
            try scene.alarm()
            try scene.broker.kill()
            try scene.broker.start()
        }
        // A killed broker alone may cost any number.
        all.limits = { FaultRun.Limits(duplicatePushes: $0.run.load.count, duplicateResults: $0.run.load.count) }
        return all
    }
}
