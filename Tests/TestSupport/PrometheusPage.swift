/// A page in Prometheus' text format, parsed as strictly as its specification allows, and independently of the writer.
///
/// Source: prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
package struct PrometheusPage {
    package struct Sample {
        package let name: String
        package let labels: [String: String]
        package let value: Double
    }

    package struct Family {
        package let name: String
        package let type: String
        package let help: String
        package fileprivate(set) var samples: [Sample] = []
    }

    /// In the page's order.
    package private(set) var families: [Family] = []

    package init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw TestSupportError("the last line does not end") }
        var help: (name: String, text: String)?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            if line.hasPrefix("# HELP ") {
                guard help == nil, words.count == 4, !words[3].isEmpty else { throw TestSupportError("help: \(line)") }
                help = (words[2], words[3])
            } else if line.hasPrefix("# TYPE ") {
                guard let said = help, words.count == 4, said.name == words[2],
                    ["counter", "gauge", "histogram"].contains(words[3]),
                    !families.contains(where: { $0.name == said.name })
                else { throw TestSupportError("type: \(line)") }
                families.append(Family(name: words[2], type: words[3], help: said.text))
                help = nil
            } else {
                try add(Self.sample(line), line)
            }
        }
        for family in families where family.type == "histogram" { try Self.check(family) }
    }

    private mutating func add(_ sample: Sample, _ line: Substring) throws {
        guard let family = families.last else { throw TestSupportError("no family: \(line)") }
        let suffixes = family.type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        guard suffixes.contains(where: { family.name + $0 == sample.name }) else {
            throw TestSupportError("of another family: \(line)")
        }
        guard !family.samples.contains(where: { $0.name == sample.name && $0.labels == sample.labels }) else {
            throw TestSupportError("a second time: \(line)")
        }
        guard family.type != "counter" || (family.name.hasSuffix("_total") && sample.value >= 0) else {
            throw TestSupportError("no counter: \(line)")
        }
        families[families.count - 1].samples.append(sample)
    }

    private static func sample(_ line: Substring) throws -> Sample {
        func isName(_ text: Substring) -> Bool {
            guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
            return text.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }
        }
        var rest = line[...]
        let name = rest.prefix { $0 != "{" && $0 != " " }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            repeat {
                rest = rest.dropFirst()
                let label = rest.prefix { $0 != "=" }
                rest = rest.dropFirst(label.count)
                guard isName(label), rest.hasPrefix("=\"") else { throw TestSupportError("label: \(line)") }
                rest = rest.dropFirst(2)
                var value = ""
                while let character = rest.first, character != "\"" {
                    rest = rest.dropFirst()
                    guard character == "\\" else {
                        value.append(character)
                        continue
                    }
                    guard let escaped = rest.popFirst(), let meant = ["\\": "\\", "\"": "\"", "n": "\n"][escaped]
                    else { throw TestSupportError("escape: \(line)") }
                    value += meant
                }
                guard rest.popFirst() == "\"", labels.updateValue(value, forKey: String(label)) == nil else {
                    throw TestSupportError("label: \(line)")
                }
            } while rest.first == ","
            guard rest.popFirst() == "}" else { throw TestSupportError("labels: \(line)") }
        }
        guard isName(name), rest.popFirst() == " ", let value = Double(rest), !value.isNaN else {
            throw TestSupportError("sample: \(line)")
        }
        return Sample(name: String(name), labels: labels, value: value)
    }

    /// Buckets must ascend, the last one be +Inf and equal the count.
    private static func check(_ family: Family) throws {
        let buckets = family.samples.filter { $0.name.hasSuffix("_bucket") }
        let bounds = buckets.compactMap { $0.labels["le"] }.compactMap { $0 == "+Inf" ? Double.infinity : Double($0) }
        let counts = buckets.map(\.value)
        guard bounds.count == buckets.count, bounds == bounds.sorted(), bounds.last == .infinity,
            counts == counts.sorted(),
            counts.last == family.samples.first(where: { $0.name.hasSuffix("_count") })?.value,
            family.samples.contains(where: { $0.name.hasSuffix("_sum") })
        else { throw TestSupportError("histogram: \(family)") }
    }

    // MARK: Queries

    package func samples(of name: String) -> [Sample] {
        families.flatMap(\.samples).filter { $0.name == name }
    }

    /// The sum over the samples that have these labels; `nil` where there is none.
    package func sum(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        let found = samples(of: name).filter { sample in labels.allSatisfy { sample.labels[$0.key] == $0.value } }
        return found.isEmpty ? nil : found.reduce(0) { $0 + $1.value }
    }
}
