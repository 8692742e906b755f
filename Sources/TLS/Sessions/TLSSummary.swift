/// The negotiated parameters of a connection, for display.
package struct TLSSummary: Sendable, Equatable {
    /// `TLSv1.2` or `TLSv1.3`.
    package let version: String
    /// The group of the key exchange, such as `x25519`.
    package let group: String?
    package let certificate: Certificate?
}
