"""The documentation is short enough, and all text is in plain English.

It counts the words of the README and of the pages for users, and how often the expressions of phrases.txt occur in
pages, in comments, and in messages (help, log and error texts, alerts).
"""

import re

from findings import ROOT, end

# Words: what stands between spaces and has a letter or a digit, so that a table's bars do not count.
README_WORDS = 900
USER_WORDS = 24_800
USER_FOLDERS = ("start", "produce", "operate", "reference")
PHRASES_PER_1000 = 0.8
LONGEST_LISTED = 20


def words(text):
    return sum(1 for word in text.split() if re.search(r"\w", word))


def phrases():
    lines = (ROOT / "Tests/Tools/checks/phrases.txt").read_text().splitlines()
    return re.compile("|".join(line for line in lines if line and not line.startswith("#")), re.I)


COMMENT = re.compile(r"^\s*(?://+|#(?!!))(.*)$")
# Comments, so that their quotation marks do not count; then literals of several lines and of one.
LITERAL = re.compile(r'//[^\n]*|"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"', re.S)


def lines(path):
    return path.read_text().splitlines()


def pages():
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        yield from ((path, number, line) for number, line in enumerate(lines(path), 1))


def comments():
    swift = [path for folder in ("Sources", "Tests") for path in ROOT.glob(f"{folder}/**/*.swift")]
    patterns = ("Tests/**/*.py", "deploy/**/*.py", "deploy/**/*.sh")
    scripts = [path for pattern in patterns for path in ROOT.glob(pattern)]
    for path in sorted(swift + scripts):
        for number, line in enumerate(lines(path), 1):
            if comment := COMMENT.match(line):
                yield path, number, comment[1]


def messages():
    for path in sorted(ROOT.glob("Sources/**/*.swift")):
        text = path.read_text()
        for literal in LITERAL.finditer(text):
            yield path, text.count("\n", 0, literal.start()) + 1, literal[1] or literal[2] or ""
    for path in sorted(ROOT.glob("deploy/prometheus/*.y*ml")):
        yield from ((path, number, line) for number, line in enumerate(lines(path), 1))


def check():
    listed = phrases()
    for name, texts in (("pages", pages()), ("comments", comments()), ("messages", messages())):
        total, hits = 0, []
        for path, number, text in texts:
            total += words(text)
            hits += (f"{path.relative_to(ROOT)}:{number}: {match[0]}" for match in listed.finditer(text))
        rate = 1000 * len(hits) / total
        print(f"words: {name}: {total}, {rate:.2f} listed phrases in 1,000")
        if rate > PHRASES_PER_1000:
            yield f"{name}: {rate:.2f} listed phrases in 1,000 words; at most {PHRASES_PER_1000}, among them:"
            yield from hits[:LONGEST_LISTED]
    readme = words((ROOT / "README.md").read_text())
    user = sum(words(path.read_text()) for folder in USER_FOLDERS for path in ROOT.glob(f"docs/{folder}/**/*.md"))
    print(f"words: README {readme}, pages for users {user}")
    if readme > README_WORDS:
        yield f"README.md: {readme} words; at most {README_WORDS}"
    if user > USER_WORDS:
        yield f"docs/{{{','.join(USER_FOLDERS)}}}: {user} words; at most {USER_WORDS}"


end(list(check()))
