package import HTTP2

extension HTTP2Header {
    package var nameText: String {
        String(decoding: name, as: UTF8.self)
    }
}
