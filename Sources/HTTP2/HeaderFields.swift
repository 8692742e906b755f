import CNghttp2
import Core

/// The header fields of the message being built, in nghttp2's layout: pseudo-header fields first. The memory is reused
/// for the next message.
///
/// Static strings are referenced. Everything else is copied here, because a span is valid only during the call, and
/// copied again by nghttp2 when the message is submitted.
///
/// A field that is never indexed is a literal, which intermediaries must not index either (RFC 7541, section 6.2.3).
/// Others are added to the dynamic table, or refer to it (sections 6.1 and 6.2.1). nghttp2 makes two exceptions:
/// `:path` is not indexed (section 6.2.2), `authorization` is never indexed. Source: nghttp2's `lib/nghttp2_hd.c`.
@safe
package struct HeaderFields: ~Copyable {
    /// The overhead of a field in the size of a header list (RFC 9113, section 6.5.2).
    static let overhead = 32

    /// A request has at most 11, a response fewer.
    private static let maximumFields = 16

    private var fields: UnsafeMutablePointer<nghttp2_nv>
    private var fieldCount = 0
    private var text: UnsafeMutablePointer<UInt8>
    private var textCapacity = 1024
    private var textCount = 0
    /// The size, in bytes, counted as for SETTINGS_MAX_HEADER_LIST_SIZE.
    private(set) var size = 0
    /// The extent of the fields that ``removeAdded()`` keeps.
    private var kept = (fields: 0, text: 0, size: 0)

    init() {
        unsafe fields = .allocate(capacity: Self.maximumFields)
        unsafe text = .allocate(capacity: textCapacity)
    }

    deinit {
        unsafe fields.deallocate()
        unsafe text.deallocate()
    }

    package mutating func removeAll() {
        kept = (0, 0, 0)
        removeAdded()
    }

    package var keptCount: Int { kept.fields }

    /// Keeps the present fields for the next messages, too.
    package mutating func keep() {
        kept = (fieldCount, textCount, size)
    }

    /// Removes the fields that were added after those to keep.
    package mutating func removeAdded() {
        fieldCount = kept.fields
        textCount = kept.text
        size = kept.size
    }

    /// Changes the value of a kept field, for this message. It must be called for each message if it is called once.
    ///
    /// - Parameter index: the number of fields before it.
    package mutating func replaceValue(
        at index: Int, _ value: Span<UInt8>, neverIndexed: Bool = false
    ) {
        let start = unsafe copy(value)
        unsafe replaceValue(at: index, start, value.count, Self.indexing(neverIndexed))
    }

    /// Changes the value of a kept field to two parts, for this message.
    package mutating func replaceValue(at index: Int, _ prefix: StaticString, _ rest: Span<UInt8>) {
        let count = prefix.utf8CodeUnitCount + rest.count
        // So that the second copy does not move the first one.
        reserve(count)
        let start = unsafe copy(Span(_unsafeStart: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
        _ = unsafe copy(rest)
        unsafe replaceValue(at: index, start, count, Self.indexing(false))
    }

    private mutating func replaceValue(
        at index: Int, _ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ indexing: UInt8
    ) {
        precondition(index < kept.fields, "only the value of a kept field can change")
        let growth = unsafe count - fields[index].valuelen
        unsafe fields[index].value = start
        unsafe fields[index].valuelen = count
        unsafe fields[index].flags = (fields[index].flags & Self.keepsName) | indexing
        size += growth
        kept.size += growth
    }

    /// Adds a field. The name must be in lower case.
    package mutating func add(
        _ name: StaticString, _ value: Span<UInt8>, neverIndexed: Bool = false
    ) {
        let start = unsafe copy(value)
        unsafe append(
            nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start), value: start, namelen: name.utf8CodeUnitCount,
                valuelen: value.count, flags: Self.keepsName | Self.indexing(neverIndexed)))
    }

    /// Adds a field whose value is known at compile time.
    package mutating func add(_ name: StaticString, _ value: StaticString) {
        unsafe append(
            nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start),
                value: UnsafeMutablePointer(mutating: value.utf8Start), namelen: name.utf8CodeUnitCount,
                valuelen: value.utf8CodeUnitCount, flags: Self.keepsName | Self.keepsValue))
    }

    mutating func add(_ header: HTTP2Header) {
        reserve(header.name.count + header.value.count)
        let name = unsafe copy(header.name.span)
        let value = unsafe copy(header.value.span)
        unsafe append(
            nghttp2_nv(
                name: name, value: value, namelen: header.name.count, valuelen: header.value.count, flags: 0))
    }

    /// Passes the fields to `body`; they are valid until one is added.
    func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>, Int) -> Result) -> Result {
        unsafe body(UnsafePointer(fields), fieldCount)
    }

    private static var keepsName: UInt8 { UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue) }
    private static var keepsValue: UInt8 { UInt8(NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue) }

    private static func indexing(_ isNever: Bool) -> UInt8 {
        isNever ? UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) : 0
    }

    private mutating func append(_ field: nghttp2_nv) {
        precondition(fieldCount < Self.maximumFields, "a message has few fields")
        unsafe fields[fieldCount] = field
        fieldCount += 1
        size += unsafe field.namelen + field.valuelen + Self.overhead
    }

    private mutating func copy(_ bytes: Span<UInt8>) -> UnsafeMutablePointer<UInt8> {
        reserve(bytes.count)
        let start = unsafe text + textCount
        unsafe bytes.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { unsafe start.update(from: base, count: source.count) }
        }
        textCount += bytes.count
        return unsafe start
    }

    /// Reserves room for text. If that moves the text, the fields are updated.
    private mutating func reserve(_ count: Int) {
        guard textCount + count > textCapacity else { return }
        let old = unsafe text
        while textCapacity < textCount + count { textCapacity *= 2 }
        unsafe text = .allocate(capacity: textCapacity)
        unsafe text.update(from: old, count: textCount)
        for index in 0..<fieldCount {
            if unsafe fields[index].flags & Self.keepsName == 0 {
                unsafe fields[index].name = text + (fields[index].name - old)
            }
            if unsafe fields[index].flags & Self.keepsValue == 0 {
                unsafe fields[index].value = text + (fields[index].value - old)
            }
        }
        unsafe old.deallocate()
    }
}
