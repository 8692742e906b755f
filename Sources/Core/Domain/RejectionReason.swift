/// Apple's reason for a response other than 200: an open set of exact strings.
///
/// Sources: "Handling notification responses from APNs", "Handling error responses from Apple Push Notification
/// service", and the APNs Provider API's Table 6-6.
package struct RejectionReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let tooManyRequests = RejectionReason(rawValue: "TooManyRequests")
}
