#!/usr/bin/env python3
"""Finds references to files and sections of this repository that do not exist.

Usage: scripts/check_references.py [--root DIR]
Reads documents, comments of C++, Python and CMake files, and scripts:
  [page]     a reference to docs/….md, which does not exist
  [section]  a reference to docs/….md §N, but the page has no heading that begins with N
  [adr]      a reference to ADR N, but docs/adr/ has no such number
  [link]     a document links to a file or a heading that does not exist
  [path]     a reference to a C++ file of a module that does not exist
  [outside]  a reference to a page without its folder
Prints file:line and the reference; exit 1 if anything is found.
"""
import argparse
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from check_layers import read_modules  # noqa: E402

PAGE = re.compile(r"(?<![\w/.-])docs/[\w./-]+?\.md")
GAP = r"(?:\s|//|#)+"  # a reference may be broken over two lines of a comment
SECTION = re.compile(r"(?<![\w/.-])(docs/[\w./-]+?\.md)(?:'s)?,?" + GAP + r"§(\d+(?:\.\d+)*)")
ADR = re.compile(r"\bADR" + GAP + r"(\d+)\b")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
NUMBER = re.compile(r"^#+ +(\d+(?:\.\d+)*)\.? ", re.M)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
OUTSIDE = re.compile(r"(?<![\w/.-])(?:delivery|contract|gateway-api|interface|engines|providers|style|experience|libraries|http-front-end)\.md\b")
LITERAL = re.compile(r'R"\w*\(.*?\)\w*"|"(?:\\.|[^"\\\n])*"', re.S)
COMMENT = re.compile(r"//[^\n]*")
SUFFIXES = (".md", ".h", ".cpp", ".py", ".cmake", ".sql", ".js", ".yaml", ".yml")
SKIPPED = ("tests/style/", "docs/pictures/", "scripts/check_references.py")
HISTORY = ("docs/adr/",)  # an ADR may name files that existed when it was written


def listed(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True)
    return [name for name in names.stdout.decode().split("\0") if name and (root / name).is_file()]


def slug(heading):
    """The anchor that the usual renderers create for a heading."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(name, text):
    """The text, with C++ code and the strings in it replaced by blanks."""
    if not name.endswith((".h", ".cpp")):
        return text
    blanked = LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    kept = [" "] * len(text)
    for match in COMMENT.finditer(blanked):
        kept[match.start():match.end()] = text[match.start():match.end()]
    return "".join("\n" if c == "\n" else k for c, k in zip(text, kept))


class Checker:
    def __init__(self, root):
        self.root = root
        self.files = listed(root)
        self.known = set(self.files)
        self.folders = {parent.as_posix() for name in self.files for parent in pathlib.PurePosixPath(name).parents}
        folders = sorted({module.folder.split("/")[0] for module in read_modules(root)})
        self.path = re.compile(r"(?<![\w/.-])(?:" + "|".join(folders or ["-"]) + r")/[\w/]+\.(?:h|cpp)(?!\w)")
        self.adrs = {int(m.group(1)) for name in self.files if (m := re.match(r"docs/adr/(\d+)-", name))}
        self.pages = {}
        self.found = []

    def text(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")

    def headings(self, page):
        if page not in self.pages:
            text = FENCE.sub("", self.text(page))
            self.pages[page] = ({slug(h) for h in HEADING.findall(text)}, set(NUMBER.findall(text)))
        return self.pages[page]

    def report(self, name, text, offset, rule, what):
        self.found.append(f"{name}:{text.count(chr(10), 0, offset) + 1}: [{rule}] {what}")

    def run(self):
        for name in self.files:
            if name.startswith(SKIPPED) or not (name.endswith(SUFFIXES) or name.startswith("scripts/") or name == "CMakeLists.txt"):
                continue
            text = prose(name, self.text(name))
            self.check_pages(name, text)
            if not name.startswith(HISTORY):
                self.check_paths(name, text)
            if name.endswith(".md"):
                self.check_links(name, FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text))
        return self.found

    def check_pages(self, name, text):
        for match in PAGE.finditer(text):
            if match.group() not in self.known:
                self.report(name, text, match.start(), "page", f"{match.group()} does not exist")
        for match in SECTION.finditer(text):
            if match.group(1) in self.known and match.group(2) not in self.headings(match.group(1))[1]:
                self.report(name, text, match.start(), "section", f"{match.group(1)} has no section {match.group(2)}")
        for match in ADR.finditer(text):
            if int(match.group(1)) not in self.adrs:
                self.report(name, text, match.start(), "adr", f"docs/adr/ has no {match.group(1)}")

    def check_paths(self, name, text):
        for match in self.path.finditer(text):
            if match.group() not in self.known:
                self.report(name, text, match.start(), "path", f"{match.group()} does not exist")
        if not name.startswith("docs/"):
            for match in OUTSIDE.finditer(text):
                self.report(name, text, match.start(), "outside", f"write the path of {match.group()} from the root of the repository")

    def check_links(self, name, text):
        for match in LINK.finditer(text):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            path = (pathlib.PurePosixPath(name).parent / target).as_posix() if target else name
            parts = []
            for part in path.split("/"):
                parts = parts[:-1] if part == ".." else parts + [part] if part != "." else parts
            path = "/".join(parts)
            if path not in self.known and path.rstrip("/") not in self.folders:
                self.report(name, text, match.start(), "link", f"{match.group(1)}: no such file")
            elif anchor and path.endswith(".md") and anchor not in self.headings(path)[0]:
                self.report(name, text, match.start(), "link", f"{match.group(1)}: no such heading")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    found = Checker(parser.parse_args().root.resolve()).run()
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
