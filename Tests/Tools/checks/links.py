"""Every link between the pages of this repository leads to a file that is there, and to a heading if it names one."""

import functools
import re

from findings import ROOT, end


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


end(list(check()))
