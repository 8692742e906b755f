/// This build of Harebell.
package enum Version {
    package static let text = "0.1.0"
}
