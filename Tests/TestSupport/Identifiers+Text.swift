package import Core

extension DeviceToken {
    package init?(_ text: String) {
        self.init(hex: ArraySlice(text.utf8))
    }
}

extension NotificationID {
    package init?(_ text: String) {
        self.init(ArraySlice(text.utf8))
    }
}
