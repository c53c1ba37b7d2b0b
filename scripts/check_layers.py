#!/usr/bin/env python3
"""Checks the dependencies between the modules and rules that no compiler checks.

Usage: scripts/check_layers.py [--root DIR] [--table]
The `millrace_library` lines of CMakeLists.txt define the modules and their dependencies. Programs that are folders are
modules, too. Prints file:line, the rule and what to do; exit 1 if anything is found. --table prints the table of
dependencies for docs/architecture.md.
"""
import argparse
import pathlib
import re
import sys

LIBRARY = re.compile(r"^millrace_library\(\s*(\w+)\s+(\S+?)(?:\s+EXCEPT\s+[\w.\s]+?)?(?:\s+USES\s+([\w\s]+?))?\s*\)", re.M)
PROGRAM = re.compile(r"^millrace_program\(\s*(\S+)\s+(\S+)\s+USES\s+([\w\s]+?)(?:\s+PACKAGES\s+[\w\s]+?)?\s*\)", re.M)
JAIL_PROGRAM = re.compile(r"^millrace_jail_program\(\s*(\S+)\s+(\S+)\s+USES\s+([\w\s]+?)\s*\)", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')

# Third-party header → where it may be included: a folder, or a file without its suffix.
THIRD_PARTY = [
    (re.compile(r"^pistache/"), ["api/front/"]),
    (re.compile(r"^librdkafka/"), ["bus/kafka/"]),
    (re.compile(r"^sqlite3\.h$"), ["storage/"]),
    (re.compile(r"^(asio|asio/.*)(\.hpp)?$"), ["platform/net/"]),
    (re.compile(r"^curl/"), ["platform/net/"]),
    (re.compile(r"^spdlog/"), ["platform/base/log."]),
    (re.compile(r"^prometheus/"), ["platform/base/metrics."]),
    (re.compile(r"^yaml-cpp/"), ["platform/base/config."]),
    (re.compile(r"^(tesseract|leptonica|qpdf)/"), ["ai/engines/host/"]),
    (re.compile(r"^CLI/"), ["app/"]),
    (re.compile(r"^seccomp\.h$"), ["platform/process/"]),
]

# The headers that workers and maintenance change jobs with, and the folders that may include them.
MOVERS = re.compile(r"^storage/(jobs/)?job_(claims|outcomes|maintenance)\.h$")
MAY_MOVE = ("jobs/", "workers/", "storage/")

MAP = "docs/architecture.md"  # contains the table of dependencies

DATABASE_FILE = re.compile(r'"[^"]*(millrace\.db|-wal|-shm)[^"]*"')
OPENS_FILE = re.compile(r"\b(open|open64|openat|fopen|freopen|mmap|creat|copy_file|[io]?fstream)\b\s*[({\w]")

# GCC 12 destroys these twice if they are in an expression with co_await. The expression ends at `;` or `) {`.
EXPRESSION = r"\bco_await\b(?:(?!\)\s*\{)[^;])*"
AWAIT_LAMBDA = re.compile(EXPRESSION + r"\[\s*[&=\w*][^\]]*\]\s*(\([^)]*\)\s*)?(mutable\s*|->[^{]*)?\{")
AWAIT_AGGREGATE = re.compile(EXPRESSION + r"(?:[(,]\s*|\b[A-Z]\w*)\{\s*\.\w+\s*=")


class Module:
    def __init__(self, name, folder, uses):
        self.name, self.folder, self.uses = name, folder.rstrip("/") + "/", uses


def read_modules(root):
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    modules = [Module(n, f, (u or "").split()) for n, f, u in LIBRARY.findall(text)]
    for _, source, uses in PROGRAM.findall(text) + JAIL_PROGRAM.findall(text):
        if not source.endswith(".cpp"):
            modules.append(Module(source, source, uses.split()))
    return modules


def module_of(path, modules):
    """The module whose folder holds `path`: the deepest one."""
    holding = [module for module in modules if path.startswith(module.folder)]
    return max(holding, key=lambda module: len(module.folder), default=None)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)


def without_strings(text):
    return re.sub(r'"(?:\\.|[^"\\\n])*"', lambda m: '"' + " " * (len(m.group()) - 2) + '"', text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class Checker:
    def __init__(self, root):
        self.root = root
        self.modules = read_modules(root)
        self.by_name = {module.name: module for module in self.modules}
        self.found = []

    def report(self, path, line, rule, text):
        self.found.append(f"{path}:{line}: [{rule}] {text}")

    def sources(self):
        folders = {module.folder.split("/")[0] for module in self.modules} | {"tests"}
        for folder in sorted(folders):
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in (".h", ".cpp") and path.is_file():
                    yield path, path.relative_to(self.root).as_posix()

    def run(self):
        for path, name in self.sources():
            text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
            is_test = name.startswith("tests/")
            if not is_test:
                self.check_includes(name, text)
                self.check_database(name, text)
            self.check_awaits(name, without_strings(text))
        self.check_map()
        return self.found

    def check_includes(self, name, text):
        module = module_of(name, self.modules)
        for number, line in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            if module:
                self.check_dependency(name, number, module, include.group(2))
            self.check_third_party(name, number, include.group(2))
            if MOVERS.match(include.group(2)) and not name.startswith(MAY_MOVE):
                self.report(name, number, "movers", f"{include.group(2)} changes the state of jobs: only jobs/, workers/ and storage/ may include it; "
                         "read through storage/jobs/job_queries, create through jobs/job_submitter, cancel and delete through storage/jobs/job_intake")

    def check_dependency(self, name, number, module, header):
        if "/" not in header:
            sibling = self.root / pathlib.Path(name).parent / header
            if sibling.exists():
                self.report(name, number, "root-relative", f'write "{module.folder}{header}": includes are root-relative')
            return
        target = module_of(header, self.modules)
        if target is None or target is module or target.name in module.uses:
            return
        if not (self.root / header).exists():
            return  # a system header such as <net/if.h>
        allowed = " ".join(module.uses) or "nothing"
        self.report(name, number, "dependencies", f"{module.name} may use {allowed}; {header} belongs to {target.name} (see the millrace_library lines of CMakeLists.txt)")

    def check_third_party(self, name, number, header):
        for pattern, places in THIRD_PARTY:
            if pattern.match(header) and not name.startswith(tuple(places)):
                self.report(name, number, "third-party", f"<{header}> may be included only in {', '.join(places)}")

    def check_database(self, name, text):
        for number, line in enumerate(text.splitlines(), 1):
            named = DATABASE_FILE.search(line)
            if named and OPENS_FILE.search(without_strings(line)) and "sqlite3_open" not in line:
                self.report(name, number, "database-file", f"only SQLite may open {named.group()}: a second open and close releases its locks")

    def check_awaits(self, name, text):
        for match in AWAIT_LAMBDA.finditer(text):
            self.report(name, line_of(text, match.start()), "await-lambda", "a capturing lambda in an expression with co_await: name it first, then move it")
        for match in AWAIT_AGGREGATE.finditer(text):
            self.report(name, line_of(text, match.start()), "await-aggregate", "an aggregate temporary in an expression with co_await: name it first, then move it")

    def check_map(self):
        place = self.root / MAP
        if place.exists() and table(self.modules) not in place.read_text(encoding="utf-8"):
            self.report(MAP, 1, "map", "the table of dependencies differs from CMakeLists.txt: replace it with the output of scripts/check_layers.py --table")


def table(modules):
    rows = [f"| {module.name} | `{module.folder}` | {', '.join(module.uses) or '–'} |" for module in modules]
    return "\n".join(["| module | folder | may use |", "|---|---|---|", *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    checker = Checker(arguments.root.resolve())
    if arguments.table:
        print(table(checker.modules))
        return 0
    found = checker.run()
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
