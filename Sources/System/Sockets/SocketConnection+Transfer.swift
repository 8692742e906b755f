import Core

extension SocketConnection {
    func ready(_ readiness: Readiness, at now: Moment) {
        waker.wake()
        switch phase {
        case .connecting: attemptEnded(at: now)
        case .lingering: discard()
        case .tunnelling, .open:
            if readiness.contains(.writable) { isWritable = true }
            // Reading also reports errors of the socket.
            if readiness != .writable { read(at: now) }
        case .wanted, .resolving, .closed: preconditionFailure("only a connection with a socket is watched")
        }
    }

    /// - Parameter writeFailure: the reason why writing failed; input from before is still read.
    private func read(at now: Moment, after writeFailure: SystemError? = nil) {
        var budget = SocketNetwork.readBudget
        // The engine's owner may disconnect it because of the input.
        while budget > 0, phase == .open || phase == .tunnelling, let engine {
            switch buffer.fill(from: socket!) {
            case .bytes(0):
                // The engine is not drained first: output that it has not handed out was provably never sent.
                return finish(writeFailure.map { .lost(endpoint, $0) }, at: now)
            case .bytes(let count):
                buffer.withBytes(count) { received($0, by: engine, at: now) }
                // A short read emptied the socket; another read would be wasted.
                if count < buffer.size { return }
                budget -= count
            case .wouldBlock:
                return
            case .failed(let error):
                return finish(.lost(endpoint, error), at: now)
            }
        }
    }

    private func received(_ bytes: Span<UInt8>, by engine: any Engine, at now: Moment) {
        guard phase == .tunnelling else { return engine.receive(bytes, at: now.instant) }
        do throws(TransportError) {
            guard let count = try tunnel!.receive(bytes) else { return }
            open(at: now)
            if phase == .open, count < bytes.count { engine.receive(bytes.extracting(count...), at: now.instant) }
        } catch {
            end(error, at: now)
        }
    }

    private func discard() {
        var budget = SocketNetwork.readBudget
        while budget > 0 {
            switch buffer.fill(from: socket!) {
            case .bytes(0), .failed: return close()
            case .bytes(let count): budget -= count
            case .wouldBlock: return
            }
        }
    }

    // MARK: Sending

    /// Drains the engine once and writes once.
    func send(at now: Moment) {
        guard let engine else { preconditionFailure("an open connection has an engine") }
        if isWritable {
            let mayDrain = unsent.count <= SocketNetwork.unsentLimit
            if mayDrain { engine.drain(into: &unsent) }
            if phase == .open, !unsent.isEmpty { write(at: now) }
            guard phase == .open else { return }
            if !mayDrain, isWritable {
                // The socket accepted everything, and no other event would drain the engine.
                return waker.wake()
            }
        }
        guard engine.wantsDisconnect else { return }
        if unsent.isEmpty {
            startClosing(at: now)
        } else if closeDeadline == nil {
            closeDeadline = now.instant + SocketNetwork.closeGracePeriod
        }
    }

    func write(at now: Moment) {
        switch unsent.withBytes({ socket!.send($0) }) {
        case .bytes(let count):
            unsent.consume(count)
            // A short write filled the socket; another write would be wasted.
            isWritable = unsent.isEmpty
        case .wouldBlock:
            isWritable = false
        case .failed(let error):
            // Input that the peer sent before closing may contain the reason: it is read first.
            read(at: now, after: error)
            if phase != .closed { finish(.lost(endpoint, error), at: now) }
        }
        guard watchesWriting == isWritable, let registration else { return }
        watchesWriting = !isWritable
        network.loop.update(registration, interest: watchesWriting ? [.readable, .writable] : .readable)
    }

    private func startClosing(at now: Moment) {
        socket?.endOutput()
        judgeAddress()
        phase = .lingering
        closeDeadline = now.instant + SocketNetwork.closeGracePeriod
        let engine = engine
        self.engine = nil
        notify(engine, nil, at: now)
    }
}
