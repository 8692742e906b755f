/// This build of Harebell.
package enum Version {
    /// The only definition of the version: packages, images and the check of CHANGELOG.md read it here.
    package static let text = "0.3.0"
}

/// The versions of the loaded C libraries; each target that uses one adds its own.
package enum LibraryVersion {}
