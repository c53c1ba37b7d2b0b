#!/usr/bin/env python3
"""Finds names that two files of a module declare in anonymous namespaces: unity files would clash.

Usage: scripts/check_names.py [--root DIR]
Functions may share a name if the types of their parameters differ in more than const and &; template arguments are
ignored. If only const and & differ, overload resolution could silently choose the other function. A type alias may be
declared twice. Prints file:line of the second declaration; exit 1 if anything is found.
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from check_layers import module_of, read_modules  # noqa: E402

OPENS, ENDS = "namespace {", "}  // namespace"
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union)\s+(\w+)\s*[^;]*\{")
ALIAS = re.compile(r"^using\s+(\w+)\s*=\s*(.*?);")
DECLARED = re.compile(r"^[^=({\[;]*?(?<![\w:])(\w+)\s*([=({\[;])(.*)$")
NOT_DECLARED = re.compile(r"^(using|static_assert|return|namespace|extern|public|private|protected|[A-Z_]+\()\b")


def without_templates(text):
    """`std::map<a, b> f` → `std::map f`; a leading `template <…>` is removed completely."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return re.sub(r"^template\s+", "", text)


def parameters(rest):
    """The types of `int a, const T& b)`: the text before each parameter name, without defaults, const and &."""
    inside = rest.split(")")[0]
    words = (re.sub(r"\s*=.*|\bconst\b", "", one).strip() for one in inside.split(","))
    types = (re.sub(r"\s*\b\w+$", "", one) if re.search(r"[\s&*]\w+$", one) else one for one in words)
    return tuple(re.sub(r"\s*&", "", one) for one in types)


def signature(statement):
    """(name, what must differ in a second declaration), or None."""
    if found := TYPE.match(statement):
        return found.group(1), None
    if found := ALIAS.match(statement):
        return found.group(1), "alias " + found.group(2)
    if NOT_DECLARED.match(statement):
        return None
    found = DECLARED.match(without_templates(re.sub(r"\[\[\w+\]\]\s*", "", statement)))
    if not found or "::" in found.group(0)[: found.end(1)].split(" ")[-1]:
        return None
    return found.group(1), parameters(found.group(3)) if found.group(2) == "(" else None


def declarations(text):
    """(line, name, signature) of each declaration at column 0 in an anonymous namespace of formatted C++."""
    lines = RAW_STRING.sub(lambda raw: '""' + "\n" * raw.group().count("\n"), text).splitlines()
    inside = False
    for number, line in enumerate(lines):
        if line.startswith((OPENS, ENDS)):
            inside = line.startswith(OPENS)
        elif inside and re.match(r"[A-Za-z\[]", line):
            statement = " ".join(one.strip() for one in lines[number : number + 6])
            if named := signature(without_comment(statement)):
                yield number + 1, *named


def without_comment(statement):
    return re.sub(r"//.*?(?=  |$)", "", statement)


def clashes(paths):
    seen = {}
    for path in paths:
        for line, name, differs in declarations(path.read_text(encoding="utf-8")):
            for other, known in seen.setdefault(name, {}).items():
                same = known == differs and not str(differs).startswith("alias ")
                if other != path and (same or None in (known, differs)):
                    yield path, line, name, other
                    break
            seen[name][path] = differs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    failed = False
    modules = read_modules(root)
    for module in modules:
        paths = sorted((root / module.folder).rglob("*.cpp"))
        own = [path for path in paths if module_of(path.relative_to(root).as_posix(), modules) is module]
        for path, line, name, other in clashes(own):
            print(f"{path.relative_to(root)}:{line}: [names] {other.name} has a `{name}`, too: "
                  "declare it once in a header, or rename one of the two")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
