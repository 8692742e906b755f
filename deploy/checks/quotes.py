"""What the pages quote exists: metrics, configuration keys and options of commands, each against its reference."""

import re

from findings import NAME, ROOT, end, metrics

REFERENCE = ROOT / "docs/reference"
SECTIONS = (
    "broker", "queues", "decoders", "results", "feedback", "dead_letter", "retry", "apns", "apps", "admin", "log",
)


def rows(page):
    return re.findall(r"^\| `([^`]+)` \|", (REFERENCE / page).read_text(), re.M)


def keys():
    """Every key of the configuration and of `/state`, and every section, with the brackets of lists and without."""
    found = set()
    for key in rows("configuration.md") + rows("state.md"):
        parts = key.split(".")
        found |= {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return found | {key.replace("[]", "") for key in found}


# The function that a decoder in a shared library exports.
OTHER_NAMES = {"harebell_decoder"}
# They describe the fields of other programs.
OTHER_FIELDS = ROOT / "docs/produce/decoders"


def options():
    return {option.split()[0] for option in rows("command-line.md")} | {"--help", "--version"}


def check():
    known = {re.sub("_(bucket|sum|count)$", "", name) for name in metrics()} | set(metrics()) | OTHER_NAMES
    all_keys, all_options = keys(), options()
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        if page.name == "CHANGELOG.md":
            continue
        where, text = page.relative_to(ROOT), page.read_text()
        for name in sorted(set(re.findall(rf"`({NAME})[`{{]", text)) - known):
            yield f"{where}: there is no metric {name}"
        pattern = rf"`((?:{'|'.join(SECTIONS)})(?:\[\])?(?:\.[a-z_0-9-]+(?:\[\])?)+)`"
        for key in sorted(set(re.findall(pattern, text))):
            if key.replace("[]", "") not in all_keys and page.parent != OTHER_FIELDS:
                yield f"{where}: there is no configuration key {key}"
        commands = re.findall(r"harebell [a-z-]+ [^`\n|]*(?:\\\n[^`\n|]*)*", text)
        for option in sorted({option for command in commands for option in re.findall(r" (--[a-z-]+)", command)}):
            if option not in all_options:
                yield f"{where}: there is no option {option}"


end(list(check()))
