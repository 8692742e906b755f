"""Every link between the pages of this repository leads to a file that is there, and to a heading if it names one; and
the pages are short enough.
"""

import functools
import re

from findings import ROOT, end

# Words: what stands between spaces and has a letter or a digit, so that a table's bars do not count.
LONGEST = {"README.md": 900, "docs/(start|produce|operate|reference)/": 26_000, "docs/internals/": 20_000}


@functools.cache
def text(path):
    """Without blocks of code, whose brackets are no links."""
    return re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.M | re.S)


@functools.cache
def anchors(path):
    """As the usual hosts of repositories make them of headings."""
    headings = re.findall(r"^#+ (.+)$", text(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    for page in sorted(pages):
        if ".build" in page.parts:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text(page))):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists():
                yield f"{page.relative_to(ROOT)}: there is no {target}"
            elif anchor and anchor not in anchors(path):
                yield f"{page.relative_to(ROOT)}: {target} has no such heading"
    for place, longest in LONGEST.items():
        files = [path for path in pages if re.match(place, str(path.relative_to(ROOT)))]
        count = sum(1 for path in files for word in path.read_text().split() if re.search(r"\w", word))
        print(f"pages: {place}: {count} words")
        if count > longest:
            yield f"{place}: {count} words; at most {longest}"


end(list(check()))
