/// This build of Harebell.
package enum Version {
    /// The one place of the number: packages, images and the check of CHANGELOG.md read it here.
    package static let text = "0.2.0"
}

/// The versions of the C libraries that this process has loaded; each target that uses one adds its own.
package enum LibraryVersion {}
