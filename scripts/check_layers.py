#!/usr/bin/env python3
"""Checks the arrows between the rooms and a few rules that no compiler knows.

Usage: scripts/check_layers.py [--root DIR] [--table]
The rooms and what each may use are the `millrace_library` lines of CMakeLists.txt. Prints file:line, the rule and what
to do; exit 1 if anything is found. --table prints the arrows as docs/architecture.md has them.
"""
import argparse
import pathlib
import re
import sys

LIBRARY = re.compile(r"^millrace_library\(\s*(\w+)\s+(\S+?)(?:\s+USES\s+([\w\s]+?))?\s*\)", re.M)
PROGRAM = re.compile(r"^millrace_program\(\s*(\S+)\s+(\S+)\s+USES\s+([\w\s]+?)(?:\s+PACKAGES\s+[\w\s]+?)?\s*\)", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')

# Third-party header → where it may stand: a folder, or a file without its suffix (architecture.md §4 of the design).
THIRD_PARTY = [
    (re.compile(r"^pistache/"), ["api/front/"]),
    (re.compile(r"^librdkafka/"), ["bus/kafka_"]),
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

# The headers that move a job, and who may include them.
MOVERS = re.compile(r"^storage/job_(intake|claims|outcomes|upkeep)\.h$")
MAY_MOVE = ("jobs/", "workers/", "storage/", "app/compose")

MAP = "docs/architecture.md"  # has the table of the arrows

DATABASE_FILE = re.compile(r'"[^"]*(millrace\.db|-wal|-shm)[^"]*"')
OPENS_FILE = re.compile(r"\b(open|open64|openat|fopen|freopen|mmap|creat|copy_file|[io]?fstream)\b\s*[({\w]")

# GCC 12 destroys these twice when they stand in an expression with co_await. The expression ends at `;` or `) {`.
EXPRESSION = r"\bco_await\b(?:(?!\)\s*\{)[^;])*"
AWAIT_LAMBDA = re.compile(EXPRESSION + r"\[\s*[&=\w*][^\]]*\]\s*(\([^)]*\)\s*)?(mutable\s*|->[^{]*)?\{")
AWAIT_AGGREGATE = re.compile(EXPRESSION + r"(?:[(,]\s*|\b[A-Z]\w*)\{\s*\.\w+\s*=")


class Room:
    def __init__(self, name, folder, uses, whole_tree):
        self.name, self.folder, self.uses, self.whole_tree = name, folder.rstrip("/") + "/", uses, whole_tree


def read_rooms(root):
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    rooms = [Room(n, f, (u or "").split(), False) for n, f, u in LIBRARY.findall(text)]
    for _, source, uses in PROGRAM.findall(text):
        if not source.endswith(".cpp"):
            rooms.append(Room(source, source, uses.split(), True))
    return rooms


def room_of(path, rooms):
    """The room whose folder holds `path`: the deepest one."""
    holding = [room for room in rooms if path.startswith(room.folder)]
    return max(holding, key=lambda room: len(room.folder), default=None)


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
        self.rooms = read_rooms(root)
        self.by_name = {room.name: room for room in self.rooms}
        self.found = []

    def say(self, path, line, rule, text):
        self.found.append(f"{path}:{line}: [{rule}] {text}")

    def sources(self):
        folders = {room.folder.split("/")[0] for room in self.rooms} | {"tests"}
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
        room = room_of(name, self.rooms)
        for number, line in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            if room:
                self.check_arrow(name, number, room, include.group(2))
            self.check_third_party(name, number, include.group(2))
            if MOVERS.match(include.group(2)) and not name.startswith(MAY_MOVE):
                self.say(name, number, "movers", f"{include.group(2)} moves jobs: only jobs/, workers/ and app/compose include it; "
                         "read through storage/job_queries, move through jobs/")

    def check_arrow(self, name, number, room, header):
        if "/" not in header:
            sibling = self.root / pathlib.Path(name).parent / header
            if sibling.exists():
                self.say(name, number, "root-relative", f'write "{room.folder}{header}": includes are root-relative')
            return
        target = room_of(header, self.rooms)
        if target is None or target is room or target.name in room.uses:
            return
        if not (self.root / header).exists():
            return  # a system header such as <net/if.h>
        allowed = " ".join(room.uses) or "nothing"
        self.say(name, number, "arrows", f"{room.name} may use {allowed}; {header} is of {target.name} (CMakeLists.txt has the arrows)")

    def check_third_party(self, name, number, header):
        for pattern, places in THIRD_PARTY:
            if pattern.match(header) and not name.startswith(tuple(places)):
                self.say(name, number, "third-party", f"<{header}> stays in {', '.join(places)}")

    def check_database(self, name, text):
        for number, line in enumerate(text.splitlines(), 1):
            named = DATABASE_FILE.search(line)
            if named and OPENS_FILE.search(without_strings(line)) and "sqlite3_open" not in line:
                self.say(name, number, "database-file", f"{named.group()} is opened by SQLite alone: another open and close drops its locks")

    def check_awaits(self, name, text):
        for match in AWAIT_LAMBDA.finditer(text):
            self.say(name, line_of(text, match.start()), "await-lambda", "a capturing lambda in an expression with co_await: name it first, then move it")
        for match in AWAIT_AGGREGATE.finditer(text):
            self.say(name, line_of(text, match.start()), "await-aggregate", "an aggregate temporary in an expression with co_await: name it first, then move it")

    def check_map(self):
        place = self.root / MAP
        if place.exists() and table(self.rooms) not in place.read_text(encoding="utf-8"):
            self.say(MAP, 1, "map", "its table is not what CMakeLists.txt says: scripts/check_layers.py --table prints it")


def table(rooms):
    rows = [f"| {room.name} | `{room.folder}` | {', '.join(room.uses) or '–'} |" for room in rooms]
    return "\n".join(["| room | folder | may use |", "|---|---|---|", *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    checker = Checker(arguments.root.resolve())
    if arguments.table:
        print(table(checker.rooms))
        return 0
    found = checker.run()
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
