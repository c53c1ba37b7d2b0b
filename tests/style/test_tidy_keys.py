"""clang-tidy checks a file again only if something has changed that its result depends on."""
import pathlib
import subprocess
import sys

import pytest

KEYS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "tidy_keys.py"
FILES = {
    ".clang-tidy": "Checks: '*'\n",
    "jobs/submit.cpp": '#include "jobs/submit.h"\n#include <string>\n',
    "jobs/submit.h": '#pragma once\n#include "platform/base/ids.h"\n',
    "platform/base/ids.h": '#pragma once\n#include "platform/base/result.h"\n',
    "platform/base/result.h": '#pragma once\n#include "platform/base/ids.h"\n',  # a cycle of includes must not cause an endless loop
    "jobs/other.h": "#pragma once\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        put(tmp_path, name, text)
    return tmp_path


def put(tree, name, text):
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)


def key(tree, name="jobs/submit.cpp"):
    done = subprocess.run([sys.executable, KEYS, "--root", tree], input=name + "\0", capture_output=True, text=True,
                          timeout=60, check=True)
    result, of, rest = done.stdout.split("\0")
    assert of == name and rest == ""
    return result


@pytest.mark.parametrize("name", [".clang-tidy", "jobs/submit.cpp", "jobs/submit.h", "platform/base/result.h"])
def test_what_the_result_depends_on_changes_the_key(tree, name):
    before = key(tree)
    put(tree, name, FILES[name] + "// changed\n")
    assert key(tree) != before


def test_a_header_that_is_not_included_does_not_change_the_key(tree):
    before = key(tree)
    put(tree, "jobs/other.h", "#pragma once\nint other();\n")
    assert key(tree) == before


def test_files_of_the_same_content_have_different_keys(tree):
    put(tree, "jobs/again.cpp", FILES["jobs/submit.cpp"])
    assert key(tree) != key(tree, "jobs/again.cpp")
