import ArgumentParser

struct SchemaCommand: ParsableCommand {
    /// Raw values are the names; the files are embedded from docs/reference/schemas.
    enum Document: String, CaseIterable, ExpressibleByArgument {
        case request, result, deadLetter = "dead-letter", asyncapi

        fileprivate var text: String {
            switch self {
            case .request: Self.text(PackageResources.request_schema_json)
            case .result: Self.text(PackageResources.result_schema_json)
            case .deadLetter: Self.text(PackageResources.dead_letter_schema_json)
            case .asyncapi: Self.selfContained
            }
        }

        private static func text(_ file: [UInt8]) -> String {
            String(String(decoding: file, as: UTF8.self).dropLast())
        }

        /// The AsyncAPI document with the schemas inlined.
        private static var selfContained: String {
            var text = text(PackageResources.asyncapi_json)
            var schemas: [String] = []
            for document in [request, result, deadLetter] {
                let name = document.rawValue
                let place = "#/components/schemas/\(name)/schema"
                text = text.replacing("\"\(name).schema.json\"", with: "\"\(place)\"")
                    .replacing("\"\(name).schema.json#/", with: "\"\(place)/")
                // References within an inlined schema are relative to the enclosing document.
                let schema = document.text.replacing("\"#/$defs/", with: "\"\(place)/$defs/")
                    .replacing(#/ *"\$(id|schema)": "[^"]*",\n/#, with: "")
                schemas.append(
                    "\"\(name)\": { \"schemaFormat\": \"\(format)\", \"schema\": \(schema) }")
            }
            return text.replacing(
                "\"components\": {", with: "\"components\": { \"schemas\": { \(schemas.joined(separator: ",\n")) },")
        }

        private static let format = "application/schema+json;version=draft-2020-12"
    }

    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Prints the JSON Schema of requests, results or dead letters' headers, or the AsyncAPI document.",
        discussion: """
            The schemas are JSON Schema 2020-12; the document of the whole interface is AsyncAPI 3.

            Example: harebell schema request
            """)

    @Argument(
        help: ArgumentHelp(
            "\(Document.allCases.map(\.rawValue).joined(separator: ", ")).", valueName: "document"))
    var document: Document

    func run() {
        printLine(raw: document.text)
    }
}
