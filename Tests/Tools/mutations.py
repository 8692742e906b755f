"""Finds small changes of Swift source that tests should notice: see Tests/Tools/mutants.

Each is guarded by its number, so that one build holds many and one file says which is in force: a removed statement
becomes `if !__mutant(7) { ... }`, a literal `__mutated(7, 5, 6)`, an operator a custom one that asks for number 7.
"""

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path

# Added to each target with mutants. A file names the active mutant, and each process reads it once, so that child
# processes with another environment use it, too. With -1 none is, and the numbers that are asked for go to a file.
PRELUDE = """import Glibc

@usableFromInline let __active: Int32 = {
    guard let file = fopen("{file}", "r") else { return 0 }
    defer { fclose(file) }
    var number: Int32 = 0
    _ = withUnsafeMutablePointer(to: &number, { withVaList([$0]) { vfscanf(file, "%d", $0) } })
    return number
}()

nonisolated(unsafe) let __asked = {
    let asked = UnsafeMutablePointer<Bool>.allocate(capacity: 10_000)
    asked.initialize(repeating: false, count: 10_000)
    return asked
}()

nonisolated(unsafe) var __late: Int32 = 0

@usableFromInline func __mutant(_ number: Int32) -> Bool {
    if __active < 0 && !__asked[Int(number)] {
        let error = errno
        defer { errno = error }
        let file = open("{file}.asked", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        // A test may have used up the descriptors: the next call tries again, or the end of the process.
        guard file >= 0 else {
            if __late == 0 { atexit { _ = __mutant(__late) } }
            __late = number
            return false
        }
        __asked[Int(number)] = true
        _ = "\\(number)\\n".utf8CString.withUnsafeBufferPointer { write(file, $0.baseAddress, $0.count - 1) }
        close(file)
    }
    return number == __active
}

@usableFromInline func __mutated<T>(_ number: Int32, _ original: T, _ mutated: @autoclosure () -> T) -> T {
    __mutant(number) ? mutated() : original
}

@usableFromInline func __smaller<T: Comparable>(_ number: Int32, _ one: T, _ other: T) -> T {
    __mutant(number) ? Swift.max(one, other) : Swift.min(one, other)
}

@usableFromInline func __larger<T: Comparable>(_ number: Int32, _ one: T, _ other: T) -> T {
    __mutant(number) ? Swift.min(one, other) : Swift.max(one, other)
}
"""

REPLACED = {
    "<": "<= >", "<=": "< >=", ">": ">= <", ">=": "> <=", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "+": "-", "-": "+",
}
COMPARISON = """@usableFromInline func {op} <T: Comparable>(_ a: T, _ b: T) -> Bool {
    __mutant({number}) ? a {new} b : a {old} b
}
"""
EQUALITY = COMPARISON.replace("Comparable", "Equatable") + """
@usableFromInline func {op} <T: ~Copyable>(_ a: borrowing T?, _ b: _OptionalNilComparisonType) -> Bool {
    __mutant({number}) ? a {new} b : a {old} b
}
"""
SUM = COMPARISON.replace("Comparable", "AdditiveArithmetic").replace("Bool", "T")
LOGIC = """@usableFromInline func {op} (_ a: Bool, _ b: @autoclosure () throws -> Bool) rethrows -> Bool {
    try __mutant({number}) ? a {new} b() : a {old} b()
}
"""
# (operators, kind, precedence, declaration)
FAMILIES = (
    ("< <= > >=", "comparison", "ComparisonPrecedence", COMPARISON),
    ("== !=", "comparison", "ComparisonPrecedence", EQUALITY),
    ("+ -", "plus-minus", "AdditionPrecedence", SUM),
    ("&&", "and-or", "LogicalConjunctionPrecedence", LOGIC),
    ("||", "and-or", "LogicalDisjunctionPrecedence", LOGIC),
)

# Statements that are not removed: declarations and control flow; checks of programming errors; hints.
KEPT = re.compile(
    r"(let|var|return|if|guard|for|while|switch|case|default|throw|break|continue|func|struct|class|enum|else|do|defer|"
    r"init|deinit|import|typealias|extension|precondition\w*|assert\w*|fatalError|super|repeat|where|subscript|yield|"
    r"fileprivate|internal|private|package|public|final|static|mutating|nonisolated|indirect|fallthrough|get|set)\b|"
    r"[@#}.]|.*reserveCapacity")
ASSIGNMENT = re.compile(r"(unsafe )?[A-Za-z_$][\w.$?!\[\]() +-]* [-+*/&|%]?= ")
CALL = re.compile(r"(_ = )?(try[?!]? |unsafe )*[A-Za-z_$][\w.$?!\[\]]*(<\w+>)?[( {]")
DROPPED = re.compile(r"\.(append|insert|reset|remove\w*|popFirst|popLast)\b")
# Where a statement begins on a line with what decides about it.
PREFIX = re.compile(r"(?:\} )?(?:else )?if [^{}]* \{ (?=[^{}]* \}$)|(?:case [^{}\"]*|default): (?=\S)")
CONDITION = re.compile(r"^\s*(?:\} else )?(?:if|guard|while) (.*?)(?: else)? \{", re.MULTILINE)
PATH = r"[a-z]\w*(?:\.[a-z]\w*)*"
PAIR = re.compile(rf"(?<=[(,])(\s?(?:\w+: )?)({PATH})(, (?:\w+: )?)({PATH})(?=[,)])")
LITERAL = re.compile(r"(?<![\w.$#\"])\d[\d_]*(?:\.\d+)?(?![\w\"]|\.\d)")
MAXIMUM_LINES = 8
# Comments, regular expressions, and string literals with what they interpolate, which has parentheses and
# strings of its own.
STRING = r'"(?:\\[^\n]|[^"\\\n])*"'
INTERPOLATED = r"\([^()\n]*\)"
for _ in range(3):
    INTERPOLATED = rf'\((?:[^()"\n]|{STRING}|{INTERPOLATED})*\)'
HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|#/[^\n]*?/#|(#*)"""(?:.*?)"""\1|(#+)"[^\n]*?"\2'
    rf'|"(?:\\{INTERPOLATED}|\\[^\n]|[^"\\\n])*"', re.DOTALL)


@dataclass
class Mutant:
    path: Path
    target: str
    kind: str
    start: int
    end: int
    # What stands there if it is in force.
    new: str
    # What takes the place of [start, end), with {number} and {op}.
    guarded: str
    # Declares its operator, with {number} and {op}.
    operator: str = ""
    # That of the file when it was drawn: the tree may change while tests run.
    text: str = field(default="", repr=False)
    number: int = 0

    @property
    def symbol(self) -> str:
        return chr(0x2500 + self.number // 500) + chr(0x2500 + self.number % 500)

    def fill(self, template: str) -> str:
        return template.replace("{number}", str(self.number)).replace("{op}", self.symbol)

    def changed(self) -> tuple[str, str]:
        """The lines around it, before and after, without the space around them."""
        text = self.text
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        return text[first:last].strip(), (text[first:self.start] + self.new + text[self.end:last]).strip()

    def lines(self) -> tuple[int, int]:
        return self.text.count("\n", 0, self.start) + 1, self.text.count("\n", 0, self.end) + 1

    def diff(self) -> str:
        mutated = self.text[:self.start] + self.new + self.text[self.end:]
        return "\n".join(difflib.unified_diff(
            self.text.splitlines(), mutated.splitlines(), str(self.path), self.kind, lineterm=""))


def masked(text: str) -> str:
    """The text with everything in comments and string literals replaced by spaces, in the same places."""

    def blank(match: re.Match) -> str:
        quote = '"' if match[0].startswith('"') else " "
        return quote + re.sub(r"[^\n]", " ", match[0][1:-1]) + quote

    return HIDDEN.sub(blank, text)


def mutants_of(path: Path, target: str, text: str) -> list[Mutant]:
    code = masked(text)
    found = list(statements(code)) + list(expressions(code)) + list(conditions(code)) + list(pairs(code))
    mutants = []
    for kind, start, end, new, guarded, operator in found:
        # The templates quote the text itself, which has its literals.
        original = text[start:end]
        new, guarded = new.replace("{old}", original), guarded.replace("{old}", original)
        mutants.append(Mutant(path, target, kind, start, end, new, guarded, operator, text))
    return mutants


def statements(code: str):
    """Assignments, calls and returns that can be removed."""
    stack: list[str] = []
    lines = code.split("\n")
    offset = 0
    previous = "{"
    for index, line in enumerate(lines):
        stripped = line.strip()
        is_start = (
            stripped and stack[-1:] == ["{"] and not stripped.startswith((".", "?", "&", "|", "+ ", "- ", "||"))
            and not previous.endswith((",", "(", "[", "=", "&&", "||", " +", " -", "?", ":", "->", "return", "in"))
            or stripped and stack[-1:] == ["{"] and previous.endswith((":", " in")))
        if is_start:
            begin = offset + len(line) - len(line.lstrip())
            prefix = PREFIX.match(stripped)
            one_line = prefix is not None and stripped.endswith("}")
            if prefix:
                begin += prefix.end()
            end = offset + len(line.rstrip()) - 2 if one_line else statement_end(lines, index, offset)
            if end:
                # The only expression of a closure is its value, and a value left out may compile as ().
                is_value = previous.endswith(" in") and code[end:].lstrip().startswith("}")
                yield from removals(code[begin:end], begin, end, is_value)
        for character in line:
            if character in "({[":
                stack.append(character)
            elif character in ")}]" and stack:
                stack.pop()
        if stripped:
            previous = stripped
        offset += len(line) + 1


def statement_end(lines: list[str], index: int, offset: int) -> int | None:
    """Where a statement that begins on a line ends: with its brackets closed, before a line that does not go on."""
    depth = 0
    for number in range(index, min(index + MAXIMUM_LINES, len(lines))):
        line = lines[number]
        depth += sum(line.count(opening) for opening in "({[") - sum(line.count(closing) for closing in ")}]")
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if depth < 0:
            return None
        if depth == 0 and not line.rstrip().endswith((",", "=", "&&", "||", "+", "-", "?", ":")) \
                and not re.match(r"[.?:+*/]|- |&&|\|\||== ", following):
            return offset + len(line.rstrip())
        offset += len(line) + 1
    return None


def removals(statement: str, start: int, end: int, is_value: bool):
    removed = ("", "if !__mutant({number}) { {old} }", "")
    if re.match(r"return\b", statement):
        yield ("return", start, end, *removed)
    elif KEPT.match(statement):
        return
    elif DROPPED.search(statement.split("(")[0]):
        yield ("dropped", start, end, *removed)
    elif ASSIGNMENT.match(statement):
        yield ("assignment", start, end, *removed)
    elif CALL.match(statement) and statement.endswith((")", "}")) and not is_value:
        yield ("call", start, end, *removed)


def expressions(code: str):
    """Operators, min and max, literals."""
    for match in re.finditer(r"(?<= )(<=|>=|<|>|==|!=|&&|\|\||\+|-)(?= )", code):
        line = code[code.rfind("\n", 0, match.start()) + 1:match.start()]
        if re.search(r"\bfunc\b|\boperator\b|\bprecondition\(|(?<!for)\bwhere \w+(\.\w+)?$", line):
            continue
        for new in REPLACED[match[0]].split():
            yield operator(match, new)
    for match in re.finditer(r"(?<![\w.])(?:Swift\.)?(min|max)\(", code):
        name, other = ("__smaller", "max") if match[1] == "min" else ("__larger", "min")
        yield ("min-max", match.start(), match.end(), other + "(", name + "({number}, ", "")
    for match in LITERAL.finditer(code):
        line = code[code.rfind("\n", 0, match.start()) + 1:match.start()]
        if re.search(r"reserveCapacity|^\s*@|: ?$", line) and "case" in line or "@" in line:
            continue
        old = match[0].replace("_", "")
        values = [f"{old} + 1", f"{old} - 1"] if float(old) else [f"{old} + 1"]
        if float(old) > 1:
            values.append(f"{old} * 1000")
        for value in values:
            new = str(eval(value, {"__builtins__": {}}))  # digits and one operator: see LITERAL
            yield ("literal", match.start(), match.end(), new, "__mutated({number}, {old}, " + new + ")", "")


def operator(match: re.Match, new: str):
    old = match[0]
    kind, precedence, template = next(rest for names, *rest in FAMILIES if old in names.split())
    declaration = template.replace("{new}", new).replace("{old}", old)
    return (kind, match.start(), match.end(), new, "{op}", f"infix operator {{op}} : {precedence}\n\n{declaration}")


def conditions(code: str):
    """Conditions that can be negated: the clauses of an if, guard or while that bind nothing."""
    for match in CONDITION.finditer(code):
        depth, start = 0, match.start(1)
        for position in range(match.start(1), match.end(1) + 1):
            character = code[position] if position < match.end(1) else ","
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                clause = code[start:position]
                begin = start + len(clause) - len(clause.lstrip())
                if clause.strip() and not re.match(r"\s*(let|var|case|#|_ = )", clause):
                    yield ("negation", begin, position, "!({old})", "({old}) != __mutant({number})", "")
                start = position + 1


def pairs(code: str):
    """Two arguments beside each other that may have one type: what has two types does not compile."""
    for match in PAIR.finditer(code):
        line = code[code.rfind("\n", 0, match.start()) + 1:match.start()]
        if match[2] == match[4] or re.search(r"\bfunc\b|\binit\b|\bcase\b|\blet \(|\bin$", line):
            continue
        first, one, between, other = match.groups()
        new = f"{first}{other}{between}{one}"
        guarded = f"{first}__mutated({{number}}, {one}, {other}){between}__mutated({{number}}, {other}, {one})"
        yield ("swap", match.start(), match.end(), new, guarded, "")
