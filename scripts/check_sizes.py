#!/usr/bin/env python3
"""Reports functions longer than 60 lines and files longer than 500. It never fails.

Usage: scripts/check_sizes.py [--root DIR]
"""
import argparse
import os
import re
import sys
from pathlib import Path

FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 500
SUFFIXES = {".cpp", ".h", ".py", ".sh"}
SKIPPED = {"build", ".git", "node_modules"}

OPENS = re.compile(r"\)\s*(const|noexcept|override|final|mutable|->\s*[\w:<>,&*\s]+|\s)*(:\s.*)?\{\s*$")
NOT_FUNCTIONS = re.compile(r"^\s*(if|for|while|switch|else|catch|do|namespace|struct|class|enum|union|extern)\b")


def sources(root):
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(set(subfolders) - SKIPPED)
        for name in sorted(files):
            path = Path(folder) / name
            relative = path.relative_to(root)
            if path.suffix in SUFFIXES or relative.parts[0] in ("scripts", ".ci"):
                yield path, relative


def without_literals(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    line = re.sub(r"'(\\.|[^'\\])+'", "''", line)
    return line.split("//")[0]


def indent_of(line):
    return len(line) - len(line.lstrip())


def continues(lines, number):
    """Whether a line continues the function head of the previous line: parameters or a constructor's initialisers."""
    if number == 0 or indent_of(lines[number]) < 4 or lines[number].lstrip().startswith(("[", "{")):
        return False
    before = lines[number - 1].strip()
    return bool(before) and not before.startswith(("//", "{")) and not before.endswith((";", "}", "{", ":"))


def cpp_functions(lines):
    """(first line, length) of each function in formatted C++. A function ends at the next line that is not indented
    more than its first line."""
    for number, line in enumerate(lines):
        text = without_literals(line)
        if not OPENS.search(text) or NOT_FUNCTIONS.match(text):
            continue
        start = number
        while continues(lines, start):
            start -= 1
        indent = indent_of(lines[start])
        for end in range(number + 1, len(lines)):
            if lines[end].strip() and indent_of(lines[end]) <= indent:
                yield start, end - start + 1
                break


def python_functions(lines):
    for number, line in enumerate(lines):
        found = re.match(r"(\s*)(async\s+)?def\s", line)
        if not found:
            continue
        indent = len(found.group(1))
        end = number + 1
        while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        yield number, end - number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    for path, relative in sources(root):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if len(lines) > FILE_LINES_MAX:
            print(f"{relative}:1: [file-size] {len(lines)} lines, more than {FILE_LINES_MAX}: "
                  "split it if it has a second purpose (not an error)")
        functions = {".cpp": cpp_functions, ".h": cpp_functions, ".py": python_functions}.get(path.suffix)
        for start, length in functions(lines) if functions else ():
            if length > FUNCTION_LINES_MAX:
                where = f"{relative}:{start + 1}"
                print(f"{where}: [function-size] {length} lines, more than {FUNCTION_LINES_MAX} (not an error)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
