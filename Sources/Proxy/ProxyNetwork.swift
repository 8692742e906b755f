package import Core

/// A network whose connections all go through one HTTP proxy, by whatever network leads to that.
///
/// The proxy takes the endpoint's place: it is what is resolved and connected to. Then CONNECT asks for the way to the
/// endpoint, whose name the proxy resolves; the engine's transport opens when that is granted.
package final class ProxyNetwork: Network {
    private let base: any Network
    private let proxy: ProxyAddress
    private var tunnels: [TunnelEngine] = []

    package init(_ base: any Network, through proxy: ProxyAddress) {
        self.base = base
        self.proxy = proxy
    }

    /// - Parameter timeout: for reaching the proxy, and once more for its answer.
    package func connect(_ engine: any Engine, to endpoint: Endpoint, timeout: Duration) {
        forgetEnded()
        let tunnel = TunnelEngine(engine, ProxyTunnel(to: endpoint, through: proxy), timeout: timeout)
        tunnels.append(tunnel)
        base.connect(tunnel, to: proxy.endpoint, timeout: timeout)
    }

    package func disconnect(_ engine: any Engine) {
        forgetEnded()
        guard let index = tunnels.firstIndex(where: { $0.inner === engine }) else { return }
        base.disconnect(tunnels.remove(at: index))
    }

    /// What it means that the transport to the proxy failed, or broke before the way was open.
    package static func notReached(_ failure: TransportError) -> TransportError {
        TransportError(code: failure.code, message: "the proxy: \(failure.message)")
    }

    private func forgetEnded() {
        tunnels.removeAll { $0.hasEnded }
    }
}
