/// The members of an object, each expected once.
struct ObjectMembers {
    private var rest: [(key: String, node: JSONNode)]
    private let place: String

    init(_ node: JSONNode, in place: String) throws(ArchiveFailure) {
        guard case .object(let members) = node else {
            throw ArchiveFailure(description: "\(place): expected an object")
        }
        rest = members
        self.place = place
    }

    mutating func drop(_ name: String) {
        rest.removeAll { $0.key == name }
    }

    mutating func take<Value>(
        _ name: String, _ read: (JSONNode) throws(ArchiveFailure) -> Value
    ) throws(ArchiveFailure) -> Value {
        guard let index = rest.firstIndex(where: { $0.key == name }) else {
            throw ArchiveFailure(description: "\(place): expected \"\(name)\"")
        }
        let member = rest.remove(at: index)
        do throws(ArchiveFailure) {
            return try read(member.node)
        } catch {
            throw ArchiveFailure(description: "\(name): \(error.description)")
        }
    }

    /// - Returns: `nil` for a missing member.
    mutating func takeIfPresent<Value>(
        _ name: String, _ read: (JSONNode) throws(ArchiveFailure) -> Value
    ) throws(ArchiveFailure) -> Value? {
        rest.contains { $0.key == name } ? try take(name, read) : nil
    }

    /// Fails if any member is left, because its content would be lost.
    func end() throws(ArchiveFailure) {
        guard let member = rest.first else { return }
        throw ArchiveFailure(description: "\(place): \"\(member.key.prefix(64))\" is not known")
    }
}
