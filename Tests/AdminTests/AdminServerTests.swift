import Admin
import Core
import Glibc
import System
import TestSupport
import Testing

/// A server and clients on one loop, which runs until a condition holds.
private final class Rig: AdminPages {
    let loop: EventLoop
    let network: SocketNetwork
    private(set) var server: AdminServer!
    private(set) var visitors: [Visitor] = []
    /// Whether `/slow` has its content. Setting it responds to waiting requests at once.
    var isSlowReady = false {
        didSet { server.respondToWaiting() }
    }
    private(set) var asked: [Bool] = []
    private(set) var queries: [[String]] = []

    let pages = [
        AdminPage("/open", isPublic: true), AdminPage("/page"), AdminPage("/slow"), AdminPage("/both"),
        AdminPage("/both", "DELETE"),
    ]

    init(token: String? = nil, longest: Duration = .seconds(30), loopbackOnlyAdvice: StaticString? = "") throws {
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: Resolver())
        server = try AdminServer(
            loop: loop, listen: Endpoint(host: "127.0.0.1", port: 0), token: token, longest: longest,
            loopbackOnlyAdvice: loopbackOnlyAdvice, pages: self)
    }

    func respond(_ request: AdminRequest, at now: Moment) -> AdminResponse? {
        #expect(now.instant == loop.now.instant, "the time of the turn")
        asked.append(request.isRepeated)
        queries.append(request.query.map { "\($0.name)=\($0.value)" })
        if request.page.path.description == "/slow", !isSlowReady { return nil }
        if request.page.method == "DELETE" { return .text(200, "deleted \(request.page.path)") }
        return .text(200, "this is \(request.page.path)")
    }

    func run(sourceLocation: SourceLocation = #_sourceLocation, until condition: @escaping () -> Bool) throws {
        let holds = try loop.run(within: .seconds(30), until: condition)
        #expect(holds, "within 30 seconds", sourceLocation: sourceLocation)
    }

    /// Connects, and sends the text once connected.
    @discardableResult
    func visit(_ text: String, at endpoint: Endpoint? = nil) -> Visitor {
        let visitor = Visitor(text)
        visitors.append(visitor)
        network.connect(visitor, to: endpoint ?? server.endpoint, timeout: .seconds(20))
        return visitor
    }

    /// The response to a whole request.
    func ask(
        _ method: String, _ path: String, _ headers: String = "", host: String = "localhost", body: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Visitor {
        let visitor = visit("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n\(headers)\r\n\(body)")
        try run(sourceLocation: sourceLocation) { visitor.hasEnded }
        return visitor
    }

    /// Whether the server still responds.
    func checkService(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let visitor = try ask("GET", "/page", sourceLocation: sourceLocation)
        #expect(visitor.status == 200, sourceLocation: sourceLocation)
    }
}

/// A client that sends a given text.
private final class Visitor: Engine {
    private(set) var received: [UInt8] = []
    private(set) var isOpen = false
    private(set) var hasEnded = false
    /// The remaining text, and the most bytes sent at once.
    var output: [UInt8]
    var atOnce = Int.max
    /// The pause between two parts.
    var interval = Duration.zero
    private var due = Instant.distantPast
    var isEstablished: Bool { true }
    let wantsDisconnect = false
    var nextDeadline: Instant?

    init(_ text: String) {
        output = Array(text.utf8)
    }

    func transportOpened(at now: Instant) { isOpen = true }
    func receive(_ bytes: Span<UInt8>, at now: Instant) { received.append(bytes) }
    func transportClosed(_ failure: TransportError?, at now: Instant) { hasEnded = true }
    func expire(at now: Instant) { nextDeadline = nil }

    func drain(into queue: inout ByteQueue) {
        let now = SystemClock.now().instant
        if now >= due {
            queue.append(Array(output.prefix(atOnce)))
            output.removeFirst(min(atOnce, output.count))
            due = now + interval
        }
        if !output.isEmpty { nextDeadline = due }
    }

    var text: String { String(decoding: received, as: UTF8.self) }
    var status: Int? { Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) }
    var head: String { text.firstRange(of: "\r\n\r\n").map { String(text[..<$0.lowerBound]) } ?? text }
    var body: String { text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? "" }
}

@Suite("The admin server")
struct AdminServerTests {
    @Test("It serves a page, one request a connection, and forbids caching")
    func pages() throws {
        let visitor = try Rig().ask("GET", "/page?with=query")
        #expect(visitor.status == 200 && visitor.body == "this is /page\n")
        for header in ["Content-Type: text/plain; charset=utf-8", "Cache-Control: no-store", "Connection: close"] {
            #expect(visitor.head.contains("\r\n\(header)"), "\(header)")
        }
    }

    @Test("A page gets the parameters of its query, decoded, in their order, even before a head of several reads")
    func query() throws {
        let rig = try Rig()
        _ = try rig.ask("GET", "/page?b=x%20y%26z&a=&flag&b=2", "X: \(String(repeating: "x", count: 9000))\r\n")
        #expect(rig.queries == [["b=x y&z", "a=", "flag=", "b=2"]])
    }

    @Test("One path can have a page and a DELETE; other methods get both in Allow")
    func delete() throws {
        let rig = try Rig()
        #expect(try rig.ask("DELETE", "/both").body == "deleted /both\n")
        #expect(try rig.ask("GET", "/both").body == "this is /both\n")
        #expect(try rig.ask("PUT", "/both").head.contains("\r\nAllow: GET, HEAD, DELETE"))
    }

    @Test("HEAD gets only the head")
    func head() throws {
        let rig = try Rig()
        let whole = try rig.ask("GET", "/page")
        let visitor = try rig.ask("HEAD", "/page")
        #expect(visitor.status == 200 && visitor.body.isEmpty)
        #expect(visitor.head.contains("Content-Length: \(whole.body.utf8.count)"))
    }

    @Test(
        "An unknown path is 404, and a read-only page refuses other methods",
        arguments: [
            ("GET", "/", 404), ("GET", "/pages", 404), ("GET", "/page/", 404), ("POST", "/nothing", 404),
            ("POST", "/page", 405), ("DELETE", "/page", 405), ("OPTIONS", "/page", 405), ("GETT", "/page", 405),
        ])
    func refusals(method: String, path: String, status: Int) throws {
        let rig = try Rig()
        let visitor = try rig.ask(method, path, method == "POST" ? "Content-Length: 4\r\n" : "")
        #expect(visitor.status == status && visitor.head.contains("Allow: GET, HEAD") == (status == 405))
    }

    @Test(
        "With a token, all but public pages require it",
        arguments: [
            ("", 401), ("Authorization: Bearer right\r\n", 200), ("Authorization: bearer   right\r\n", 200),
            ("Authorization: Bearer wrong\r\n", 401), ("Authorization: Bearer righ\r\n", 401),
            ("Authorization: Bearer righx\r\n", 401), ("Authorization: Bearer xight\r\n", 401),
            ("Authorization: Bearer rightt\r\n", 401), ("Authorization: Bearer\r\n", 401),
            ("Authorization: right\r\n", 401), ("Authorization: Basic right\r\n", 401),
        ])
    func token(header: String, status: Int) throws {
        let rig = try Rig(token: "right")
        let visitor = try rig.ask("GET", "/page", header)
        #expect(visitor.status == status && visitor.head.contains("WWW-Authenticate: Bearer") == (status == 401))
        #expect(try rig.ask("GET", "/open", header).status == 200)
        #expect(try rig.ask("GET", "/nothing", header).status == (status == 200 ? 404 : 401))
        #expect(!visitor.text.contains("right"))
    }

    @Test("A request waits for a page that is not ready, and others are served meanwhile")
    func waiting() throws {
        let rig = try Rig()
        let visitor = rig.visit("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try rig.run { !rig.asked.isEmpty }
        try rig.checkService()
        #expect(!visitor.hasEnded)
        try rig.run { rig.server.nextDeadline.map { $0 > rig.loop.now.instant } == true }
        rig.isSlowReady = true
        try rig.run { visitor.hasEnded }
        #expect(visitor.body == "this is /slow\n")
        #expect(rig.asked == [false, false, true] && rig.server.connectionCount == 0)
    }

    @Test("It ends while a request waits, and closes its connection")
    func endWhileWaiting() throws {
        let other = try Rig()
        var rig: Rig? = try Rig()
        let visitor = other.visit("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n", at: rig?.server.endpoint)
        try other.run { visitor.isOpen }
        try rig?.run { rig?.asked.isEmpty == false }
        rig = nil
        try other.run { visitor.hasEnded }
        try other.checkService()
    }

    @Test("A body is never read: a page answers a GET with one, and refuses every other method with one")
    func bodies() throws {
        let rig = try Rig()
        for (method, status) in [("GET", 200), ("POST", 405), ("PUT", 405), ("PATCH", 405)] {
            #expect(try rig.ask(method, "/page", "Content-Length: 4\r\n", body: "body").status == status)
        }
        let endless = rig.visit("GET /slow HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        endless.output += Array(
            String(repeating: "400\r\n\(String(repeating: "x", count: 1024))\r\n", count: 4096).utf8)
        try rig.run { !rig.asked.dropFirst().isEmpty }
        rig.isSlowReady = true
        try rig.checkService()
    }

    @Test(
        "Without a token a name other than loopback's is refused, against DNS rebinding, unless any host is accepted",
        arguments: [
            ("localhost", true), ("LOCALHOST:8080", true), ("127.0.0.1:9464", true), ("127.8.9.10", true),
            ("[::1]:9464", true), ("[::1]", true), ("evil.example", false), ("evil.example:9464", false),
            ("127.0.0.1.evil.example", false), ("localhost.evil.example", false), ("192.0.2.1", false),
            ("[::2]:9464", false), ("", false), ("[::1].evil", false), ("localhost:80@evil", false),
            ("localhost,evil.example", false), ("user:password@localhost", false), ("simulator:8025", false),
        ])
    func names(host: String, isKnown: Bool) throws {
        #expect(try Rig().ask("GET", "/page", host: host).status == (isKnown ? 200 : 403))
        #expect(try Rig().ask("GET", "/open", host: host).status == (isKnown ? 200 : 403))
        #expect(try Rig(loopbackOnlyAdvice: nil).ask("GET", "/page", host: host).status == 200)
        let token = "Authorization: Bearer right\r\n"
        #expect(try Rig(token: "right").ask("GET", "/page", token, host: host).status == 200)
    }

    @Test("Response headers forbid loading content, sniffing and framing")
    func policy() throws {
        let rig = try Rig()
        for path in ["/page", "/nothing", "/both"] {
            let head = try rig.ask("GET", path).head
            for header in [
                "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'", "Referrer-Policy: no-referrer",
                "X-Content-Type-Options: nosniff", "Cross-Origin-Resource-Policy: same-origin",
            ] {
                #expect(head.contains("\r\n\(header)"), "\(path): \(header)")
            }
        }
    }

    // MARK: Hostile clients

    @Test(
        "Nothing that follows a request on its connection is read, however another server would divide the bytes",
        arguments: [
            "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "POST /page HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}",
            "POST /page HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        ])
    func ambiguous(head: String) throws {
        let rig = try Rig()
        let visitor = rig.visit(head + "GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try rig.run { visitor.hasEnded }
        #expect(!visitor.text.contains("this is /open"), "\(visitor.text)")
        #expect(visitor.text.split(separator: "HTTP/1.1 ").count <= 1, "\(visitor.text)")
        try rig.run { rig.server.connectionCount == 0 }
    }

    @Test(
        "Input that is not a request is refused or cut off, and the next request is answered",
        arguments: [
            "\r\n\r\n\r\n\r\n", "GET\r\n\r\n", "GET /page\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", "\0\0\0\0\r\n\r\n",
            "GET /page HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 1_000_000) + "\r\n\r\n",
            "GET /" + String(repeating: "x", count: 200_000) + " HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /page HTTP/1.1\r\nHost: a\r\n" + String(repeating: "A: b\r\n", count: 20_000) + "\r\n",
            "POST /page HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "POST /page HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
            "POST /page HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ])
    func nonsense(text: String) throws {
        let rig = try Rig(longest: .milliseconds(500))
        let visitor = rig.visit(text)
        try rig.run { visitor.hasEnded }
        #expect(visitor.status != 200 || visitor.body == "this is /page\n")
        #expect(visitor.status != 403 || text.utf8.count < 100_000, "a head this long is not read")
        try rig.checkService()
    }

    @Test("A client that sends one byte at a time is answered within the time limit, and cut off beyond it")
    func oneByteAtATime() throws {
        let rig = try Rig(longest: .seconds(2))
        let slow = rig.visit("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.atOnce = 1
        try rig.run { slow.hasEnded }
        #expect(slow.status == 200)
        let endless = rig.visit("GET /page HTTP/1.1\r\nHost: " + String(repeating: "x", count: 100_000))
        endless.atOnce = 1
        // Far less than the limit of a head until the time is over, however fast the loop turns.
        endless.interval = .milliseconds(1)
        // The last one waits for its page.
        let head = "GET /slow HTTP/1.1\r\nHost: localhost\r\n"
        for text in ["", head, head + "\r\n"] { rig.visit(text) }
        try rig.run { rig.visitors.allSatisfy(\.hasEnded) && rig.server.connectionCount == 0 }
        #expect(rig.visitors.dropFirst().allSatisfy { $0.received.isEmpty })
    }

    @Test("When the limit is reached, the oldest connections are closed, so idle clients cannot block new ones")
    func many() throws {
        let rig = try Rig(longest: .seconds(2))
        for _ in 0..<160 { rig.visit("") }
        try rig.run { rig.visitors.count(where: \.hasEnded) == 32 }
        #expect(rig.visitors[..<32].allSatisfy { $0.hasEnded })
        #expect(rig.server.connectionCount == 128 && AdminServer.longest == .seconds(10), "the documented limits")
        try rig.checkService()
        try rig.run { rig.visitors.allSatisfy(\.hasEnded) }
        try rig.checkService()
    }

    @Test("A request that comes after an idle time has its whole time")
    func idle() throws {
        let rig = try Rig(longest: .seconds(1))
        try rig.checkService()
        // The loop makes no turn meanwhile, as in an idle process.
        var pause = timespec(tv_sec: 1, tv_nsec: 100_000_000)
        unsafe nanosleep(&pause, nil)
        let visitor = rig.visit("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try rig.run { rig.asked.count > 1 || visitor.hasEnded }
        rig.isSlowReady = true
        try rig.run { visitor.hasEnded }
        #expect(visitor.status == 200)
    }

    @Test("A client that disconnects while waiting is forgotten")
    func leaving() throws {
        let rig = try Rig()
        let visitor = rig.visit("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try rig.run { !rig.asked.isEmpty }
        rig.network.disconnect(visitor)
        rig.isSlowReady = true
        try rig.run { rig.server.connectionCount == 0 }
        try rig.checkService()
    }
}
