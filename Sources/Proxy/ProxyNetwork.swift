package import Core

/// A network that connects through an HTTP proxy, using another network to reach the proxy.
///
/// The proxy is resolved and connected to instead of the endpoint. Then CONNECT requests a tunnel to the endpoint,
/// whose name the proxy resolves. The engine's transport opens when the proxy accepts.
package final class ProxyNetwork: Network {
    private let base: any Network
    private let proxy: ProxyAddress
    private var tunnels: [TunnelEngine] = []

    package init(_ base: any Network, through proxy: ProxyAddress) {
        self.base = base
        self.proxy = proxy
    }

    /// - Parameter timeout: for reaching the proxy, and again for its response.
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

    /// The error for a failed transport to the proxy, or one that broke before the tunnel was open.
    package static func notReached(_ failure: TransportError) -> TransportError {
        TransportError(code: failure.code, message: "the proxy: \(failure.message)")
    }

    private func forgetEnded() {
        tunnels.removeAll { $0.hasEnded }
    }
}
