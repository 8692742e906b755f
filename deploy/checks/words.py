"""The documentation is short enough and in plain English: words of the README and of the pages for users, and how often
the expressions of phrases.txt occur.
"""

import re

from findings import ROOT, end

# Words: what stands between spaces and has a letter or a digit, so that a table's bars do not count.
README_WORDS = 900
USER_WORDS = 30_000
USER_FOLDERS = ("start", "produce", "operate", "reference")
PHRASES_PER_1000 = 0.8
LONGEST_LISTED = 20


def words(text):
    return sum(1 for word in text.split() if re.search(r"\w", word))


def phrases():
    lines = (ROOT / "deploy/checks/phrases.txt").read_text().splitlines()
    return re.compile("|".join(line for line in lines if line and not line.startswith("#")), re.I)


def check():
    listed = phrases()
    texts = {path.relative_to(ROOT): path.read_text() for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])}
    counts = {path: words(text) for path, text in texts.items()}
    hits = [
        f"{path}:{number}: {match[0]}"
        for path, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        for match in listed.finditer(line)
    ]
    total = sum(counts.values())
    user = sum(count for path, count in counts.items() if path.parts[0] == "docs" and path.parts[1] in USER_FOLDERS)
    readme = counts[next(path for path in counts if path.name == "README.md" and len(path.parts) == 1)]
    rate = 1000 * len(hits) / total
    print(f"words: README {readme}, pages for users {user}, all {total}; {rate:.2f} listed phrases in 1,000 words")
    if readme > README_WORDS:
        yield f"README.md: {readme} words; at most {README_WORDS}"
    if user > USER_WORDS:
        yield f"docs/{{{','.join(USER_FOLDERS)}}}: {user} words; at most {USER_WORDS}"
    if rate > PHRASES_PER_1000:
        yield f"{rate:.2f} listed phrases in 1,000 words; at most {PHRASES_PER_1000}, among them:"
        yield from hits[:LONGEST_LISTED]


end(list(check()))
