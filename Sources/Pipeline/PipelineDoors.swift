package import AMQP
package import APNs
package import Core

/// What the pipeline may do to the world; its worker provides it.
package protocol PipelineDoors: AnyObject {
    /// Hands a notification to a pool; its end comes back as ``Pipeline/replied(_:_:at:)``
    /// or ``Pipeline/lost(_:_:at:)``.
    ///
    /// - Parameter isProbe: whether it needs a connection that APNs binds anew.
    func submit(_ request: consuming APNsRequest, handle: UInt32, isProbe: Bool, pool: Int, at now: Moment)

    /// Takes a notification back from a pool; `false` if it was sent already, and then its end comes back.
    func withdraw(_ handle: UInt32, pool: Int) -> Bool

    /// Whether a publishing connection takes publishes now.
    func canPublish(_ lane: PublishLane) -> Bool

    /// Opens a publishing connection unless it is open or opening already.
    func connect(_ lane: PublishLane)

    /// Bytes that the properties of a publication may have.
    func maximumProperties(on lane: PublishLane) -> Int

    /// Publishes and returns the sequence number that its confirm will carry.
    func publish(_ publication: borrowing Publication, on lane: PublishLane) throws(AMQPError) -> UInt64

    /// Whether a connection of a pool takes requests.
    func isConnected(pool: Int) -> Bool

    /// From now on takes so much from the broker.
    func take(_ intake: Intake)

    /// Has one of ``PipelineSettings/processes`` read a message; the answer comes back as
    /// ``Pipeline/decoded(_:_:at:)``.
    func ask(_ process: Int, handle: UInt32, _ delivery: Delivery)

    /// Tells the broker the end of a delivery of the current epoch.
    func settle(_ delivery: Delivery, _ settlement: Settlement)
}
