#!/usr/bin/env python3
"""Computes a cache key for clang-tidy's result on each source.

Usage: scripts/tidy_keys.py [--root DIR] <names
Reads NUL-terminated names of files below DIR. For each file it writes the key and the name, both NUL-terminated. A key
is a hash of the rules, the file and every header of this repository that it includes, directly or indirectly. A change
of any other header does not change the key.
"""
import argparse
import hashlib
import pathlib
import re
import sys

INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)


class Tree:
    def __init__(self, root):
        self.root = root
        self.read = {}  # name → (digest, names of included files); None: not a file of this repository

    def file(self, name):
        if name not in self.read:
            path = self.root / name
            text = path.read_bytes() if path.is_file() else None
            self.read[name] = text and (hashlib.sha256(text).hexdigest(), [m.decode() for m in INCLUDE.findall(text)])
        return self.read[name]

    def closure(self, name):
        seen, waiting = {}, [name]
        while waiting:
            each = waiting.pop()
            found = None if each in seen else self.file(each)
            if found:
                seen[each] = found[0]
                waiting += found[1]
        return seen

    def key(self, name):
        parts = {".clang-tidy": (self.file(".clang-tidy") or ("none",))[0], **self.closure(name)}
        text = "".join(f"{digest}  {each}\n" for each, digest in sorted(parts.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    tree = Tree(parser.parse_args().root)
    for name in sys.stdin.buffer.read().decode().split("\0"):
        if name:
            sys.stdout.write(f"{tree.key(name)}\0{name}\0")


if __name__ == "__main__":
    main()
