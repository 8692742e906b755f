import CRabbitMQ
package import Core

extension LibraryVersion {
    package static var librabbitmq: String { unsafe String(cString: amqp_version()) }
}
