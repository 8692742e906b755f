package import Core

extension Handle: ExpressibleByIntegerLiteral, Strideable {
    package init(integerLiteral value: UInt32) {
        self.init(value)
    }

    package init(_ value: Int) {
        self.init(UInt32(value))
    }

    package func distance(to other: Handle) -> Int {
        other.index - index
    }

    package func advanced(by count: Int) -> Handle {
        Handle(index + count)
    }

    package static func + (one: Handle, other: Handle) -> Handle {
        Handle(one.value + other.value)
    }

    package static func += (one: inout Handle, other: Handle) {
        one = one + other
    }
}
