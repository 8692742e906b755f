/// The text of bytes.
package func string(_ bytes: (some Collection<UInt8>)?) -> String? {
    bytes.map { String(decoding: $0, as: UTF8.self) }
}
