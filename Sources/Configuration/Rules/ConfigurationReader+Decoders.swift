import Core
import Decoding
import System

extension ConfigurationReader {
    /// The readable entries of `decoders`, each with the path of its section.
    ///
    /// An entry with options that are not valid is complete nevertheless, so that all problems are reported together.
    mutating func decoderEntries() -> [(definition: DecoderDefinition, section: String)] {
        var entries: [(definition: DecoderDefinition, section: String)] = []
        for index in 0..<values.count("decoders") {
            let path = "decoders[\(index)]"
            guard let name = values.text("\(path).name"),
                let format = DecoderFormat.sections.first(where: { values["\(path).\($0.rawValue)"] == .section }),
                let options = options(of: format, "\(path).\(format.rawValue)")
            else { continue }
            entries.append((DecoderDefinition(name: name, options), "\(path).\(format.rawValue)"))
        }
        return entries
    }

    /// Reports a message about a decoder or its name. A decoder does not know the origin of its options, so a message
    /// that might quote a value from the environment is not shown.
    mutating func refuse(_ path: String, _ message: String) {
        let concealed = "values from the environment are not shown"
        if let written = values.written[path] { return error(path, "\"\(written)\" is not valid; \(concealed)") }
        let names = (0..<values.count("decoders")).map { "decoders[\($0)].name" }
        let decoder = path.hasPrefix("decoders[") ? path.prefix { $0 != "]" } + "]" : path[...]
        let isConcealed = values.written.keys.contains { names.contains($0) || $0.hasPrefix(decoder) }
        error(path, isConcealed ? "not valid; \(concealed)" : message)
    }

    private mutating func options(of format: DecoderFormat, _ section: String) -> DecoderDefinition.Options? {
        switch format {
        case .auto, .apnsJSON, .apnsHeaders: nil
        case .mapping: .mapping(mapping(section))
        case .cloudevents:
            .cloudevents(
                decoder: values.text("\(section).decoder") ?? "auto", types: values.texts("\(section).types") ?? [])
        case .celery: .celery(celery(section))
        case .library: .library(file: path("\(section).file"), options: values.text("\(section).options") ?? "{}")
        case .process: .process(process(section))
        }
    }

    private mutating func mapping(_ section: String) -> MappingDecoder.Options {
        var options = MappingDecoder.Options()
        for name in MappingDecoder.names { options.fields[name] = source("\(section).\(name.text)", of: name) }
        options.key = source("\(section).key")
        read("\(section).payload") { text throws(Complaint) in options.payload = try MappingDecoder.payload(text) }
        if let texts = values.texts("\(section).only_if"), !texts.isEmpty {
            if texts.count == 1 { refuse("\(section).only_if", "expected a source and its accepted values") }
            options.accepted = Array(texts.dropFirst())
            options.condition = source("\(section).only_if[0]")
        }
        if !MappingDecoder.names.contains(where: { $0.isTarget && values.text("\(section).\($0.text)") != nil }) {
            refuse(section, "expected one of device-token, device-tokens and apns-channel-id")
        }
        return options
    }

    private mutating func celery(_ section: String) -> CeleryDecoder.Options {
        var options = CeleryDecoder.Options()
        options.usesReplyTo = values.text("\(section).results") == "reply_to"
        for index in 0..<values.count("\(section).tasks") {
            let path = "\(section).tasks[\(index)]"
            let name = values.text("\(path).name") ?? ""
            if options.tasks.contains(where: { $0.name == name }) {
                refuse("\(path).name", "\"\(name)\" is already listed")
            }
            let decoder = values.text("\(path).decoder") ?? "apns-json"
            read("\(path).pointer") { pointer throws(Complaint) in
                options.tasks.append(try CeleryDecoder.Task(name, at: pointer, decoder: decoder))
            }
        }
        return options
    }

    private func process(_ section: String) -> ProcessDecoder.Options {
        let command = values.texts("\(section).command") ?? []
        var options = ProcessDecoder.Options(
            program: Program(
                command: command.isEmpty ? ["none"] : command, name: values.written["\(section).command[0]"]))
        if let deadline = values.integer("\(section).deadline_milliseconds") {
            options.queue.deadline = .milliseconds(deadline)
        }
        return options
    }

    private mutating func source(_ path: String, of name: RequestFields.Name? = nil) -> FieldSource? {
        var source: FieldSource?
        read(path) { text throws(Complaint) in source = try MappingDecoder.source(text, of: name) }
        return source
    }

    private mutating func read(_ path: String, _ body: (String) throws(Complaint) -> Void) {
        guard let text = values.text(path) else { return }
        do throws(Complaint) {
            try body(text)
        } catch {
            refuse(path, error.message)
        }
    }
}
