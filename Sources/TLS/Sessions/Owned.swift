/// An OpenSSL object that is freed when its owner goes.
@safe
struct Owned: ~Copyable {
    /// Valid as long as this owner lives.
    let pointer: OpaquePointer

    private let release: (OpaquePointer?) -> Void

    /// `nil` when OpenSSL gave no object.
    init?(_ pointer: OpaquePointer?, _ release: @escaping (OpaquePointer?) -> Void) {
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
        unsafe self.release = release
    }

    deinit {
        unsafe release(pointer)
    }
}
