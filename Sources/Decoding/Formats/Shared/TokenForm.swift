import Core

/// A form in which device tokens reach producers by mistake.
struct TokenForm: CustomStringConvertible {
    let description: String

    /// - Returns: `nil` for a form that is not known.
    init?(_ text: ArraySlice<UInt8>) {
        let words = String(decoding: text.prefix(Self.longest), as: UTF8.self)
        if text.isEmpty {
            description = "it is empty or not a string"
        } else if words.contains("bytes") && words.contains("length") {
            description = "it looks like the description of NSData, which leaves out bytes of the token"
        } else if words.hasPrefix("<") || words.contains(" ") {
            description = "it looks like the description of Data: remove brackets and spaces"
        } else if words.lowercased().hasPrefix("0x") {
            description = "it begins with 0x: remove that"
        } else if words.contains(":APA91") {
            description = "it looks like a token of Firebase Cloud Messaging"
        } else if text.allSatisfy({ $0.hexDigit != nil }) {
            description = "it has \(text.count) digits"
        } else if text.count > 32 && Base64.standard.decode(text.span) != nil || Self.isUnpadded(text) {
            description = "it looks like base64: convert its bytes to hexadecimal digits"
        } else {
            return nil
        }
    }

    /// In bytes; only the beginning is looked at.
    private static let longest = 256

    private static func isUnpadded(_ text: ArraySlice<UInt8>) -> Bool {
        text.count > 32 && text.count % 4 != 1 && text.allSatisfy { $0.isLetterOrDigit(or: "+/-_") }
    }
}
