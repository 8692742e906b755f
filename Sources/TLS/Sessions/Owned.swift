/// An OpenSSL object that is freed with its owner.
@safe
struct Owned: ~Copyable {
    /// Valid while this owner exists.
    let pointer: OpaquePointer

    private let release: (OpaquePointer?) -> Void

    /// `nil` if OpenSSL returned no object.
    init?(_ pointer: OpaquePointer?, _ release: @escaping (OpaquePointer?) -> Void) {
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
        unsafe self.release = release
    }

    deinit {
        unsafe release(pointer)
    }
}
