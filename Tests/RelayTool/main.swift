import Core
import Glibc
import TestSupport

// A link of some length, for measurements on one machine: delays every byte by a fixed time in each direction until a
// signal ends it. It does not limit the rate, and does not delay TCP's own handshake and slow start.
//
//   delay-relay LISTEN_PORT TARGET_PORT ONE_WAY_MILLISECONDS

let arguments = CommandLine.arguments.dropFirst().compactMap { Int64($0) }
guard arguments.count == 3, let listen = UInt16(exactly: arguments[0]), let target = UInt16(exactly: arguments[1]),
    arguments[2] >= 0
else {
    print("usage: delay-relay LISTEN_PORT TARGET_PORT ONE_WAY_MILLISECONDS")
    exit(64)
}
var conduct = FaultRelay.Conduct()
conduct.delay = .milliseconds(arguments[2])
let relay = try FaultRelay(to: target, listen: listen, conduct)
print("relaying 127.0.0.1:\(relay.port) to 127.0.0.1:\(target), \(arguments[2]) ms each way")
while true { pause() }
