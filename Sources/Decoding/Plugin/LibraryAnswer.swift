package import Core

/// What a library makes of a delivery, with nothing looked at but the form.
package enum LibraryAnswer: Sendable {
    /// At least one, and no more than the interface allows.
    case request([LibraryNotification], key: ArraySlice<UInt8>?)
    case ignore(reason: String)
    case reject(DecodingFailure)
    /// At least a second.
    case later(Duration)
}

/// The fields of a notification, under Apple's names; `nil` for what is left out.
package struct LibraryNotification: Sendable {
    package let payload: ArraySlice<UInt8>?
    package let deviceToken: ArraySlice<UInt8>?
    package let channelID: ArraySlice<UInt8>?
    package let topic: ArraySlice<UInt8>?
    package let pushType: ArraySlice<UInt8>?
    package let id: ArraySlice<UInt8>?
    package let collapseID: ArraySlice<UInt8>?
    package let environment: ArraySlice<UInt8>?
    package let expiration: Int64?
    package let priority: UInt32?
}
