package import Core

extension TableID: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int) {
        self.init(value)
    }
}
