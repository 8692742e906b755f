import Core
import Glibc

/// From the request for a connection to an open socket.
extension SocketConnection {
    func begin(at now: Moment) {
        if let socket = socket.take() { return adopt(socket, at: now) }
        let deadline = now.instant + timeout
        if let address = AddressLookup.numeric(endpoint) {
            attempts = ConnectAttempts([address], deadline: deadline)
            connectNext(at: now)
        } else {
            attempts = ConnectAttempts([], deadline: deadline)
            phase = .resolving
            query = network.resolve(endpoint, before: deadline)
        }
    }

    func resolved(_ result: AddressLookup.Response, at now: Moment) {
        precondition(phase == .resolving, "only a resolving connection has asked")
        query = nil
        switch result {
        case .success(let addresses):
            attempts = ConnectAttempts(network.ordered(addresses, at: now.instant), deadline: attempts.deadline)
            connectNext(at: now)
        case .failure(let failure):
            finish(failure, at: now)
        }
    }

    /// Tries the next address; after the last one, its failure is the result.
    private func connectNext(after failure: TransportError? = nil, at now: Moment) {
        var failure = failure
        while let attempt = attempts.next(at: now.instant) {
            do {
                try connect(to: attempt.address)
                phase = .connecting
                return
            } catch {
                network.failedAddresses.failed(attempt.address, at: now.instant)
                failure = .notConnected(endpoint, attempt.address, error)
            }
        }
        let exhausted = "cannot connect to \(endpoint): resolving its name took the whole time limit of \(timeout)"
        finish(failure ?? TransportError("ETIMEDOUT", exhausted), at: now)
    }

    private func connect(to address: SocketAddress) throws(SystemError) {
        let socket = try Descriptor.socket(family: address.family)
        try network.options.apply(to: socket)
        try socket.connect(to: address)
        try watch(socket, .writable)
    }

    func attemptTimedOut(at now: Moment) {
        guard let attempt = attempts.current else { preconditionFailure("a connecting connection has an attempt") }
        releaseSocket()
        network.failedAddresses.failed(attempt.address, at: now.instant)
        let failure = TransportError.connectTimedOut(endpoint, attempt.address, after: attempt.deadline - attempt.begun)
        connectNext(after: failure, at: now)
    }

    func attemptEnded(at now: Moment) {
        guard let attempt = attempts.current, let registration else {
            preconditionFailure("a connecting connection has an attempt")
        }
        if let error = socket!.connectError() {
            releaseSocket()
            network.failedAddresses.failed(attempt.address, at: now.instant)
            connectNext(after: .notConnected(endpoint, attempt.address, error), at: now)
        } else {
            network.failedAddresses.succeeded(attempt.address)
            network.loop.update(registration, interest: .readable)
            guard tunnel != nil else { return open(at: now) }
            phase = .tunnelling
            tunnel!.deadline = now.instant + timeout
            unsent.append(tunnel!.request)
        }
    }

    private func adopt(_ socket: consuming Descriptor, at now: Moment) {
        do {
            try socket.becomeNonBlocking()
            // TCP's options do not apply to a socket pair.
            if SocketAddress(ofSocket: socket) != nil { try network.options.apply(to: socket) }
            try watch(socket, .readable)
        } catch {
            return finish(TransportError("cannot use the connection from \(endpoint)", error), at: now)
        }
        open(at: now)
        if phase == .open { send(at: now) }
    }

    private func watch(_ socket: consuming Descriptor, _ interest: Readiness) throws(SystemError) {
        registration = try network.loop.watch(socket.number, interest) { [self] in ready($0, at: $1) }
        self.socket = consume socket
    }

    func open(at now: Moment) {
        phase = .open
        engine?.transportOpened(at: now.instant)
        network.loop.requestTurn()
    }
}
