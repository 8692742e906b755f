package import Core

extension TableID {
    package init(integerLiteral value: Int) {
        self.init(value)
    }
}

extension AppID: ExpressibleByIntegerLiteral {}
extension LaneID: ExpressibleByIntegerLiteral {}
extension PoolID: ExpressibleByIntegerLiteral {}
extension QueueID: ExpressibleByIntegerLiteral {}
