"""The checks pass on this tree, and each of them reports a snippet that breaks its rule."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ROOT / "scripts" / "check_layers.py"
NAMES = ROOT / "scripts" / "check_names.py"
SIZES = ROOT / "scripts" / "check_sizes.py"
REFERENCES = ROOT / "scripts" / "check_references.py"

CMAKE = """\
millrace_library(base      platform/base)
millrace_library(net       platform/net USES base)
millrace_library(storage   storage USES base)
millrace_library(jobs      jobs    USES storage base)
millrace_library(api       api     USES jobs storage net base)
millrace_program(millrace-engine ai/engines/host USES base PACKAGES tesseract)
"""

HEADERS = ["platform/base/result.h", "platform/net/task.h", "storage/jobs/job_intake.h", "storage/jobs/job_queries.h",
           "jobs/submit.h", "api/routes.h"]


def run(script, root, *arguments):
    return subprocess.run([sys.executable, script, "--root", root, *arguments], capture_output=True, text=True,
                          timeout=120, check=False)


@pytest.fixture
def tree(tmp_path):
    """A small tree in which every dependency is allowed."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    for header in HEADERS:
        put(tmp_path, header, "#pragma once\n")
    put(tmp_path, "jobs/submit.cpp", '#include "jobs/submit.h"\n\n#include "storage/jobs/job_intake.h"\n')
    return tmp_path


def put(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_tree_has_only_allowed_dependencies():
    done = run(LAYERS, ROOT)
    assert done.returncode == 0, done.stdout


def test_no_two_files_of_a_module_of_this_tree_clash():
    done = run(NAMES, ROOT)
    assert done.returncode == 0, done.stdout


def test_a_correct_tree_passes_silently(tree):
    done = run(LAYERS, tree)
    assert (done.returncode, done.stdout) == (0, "")


BROKEN = [
    ("dependencies", "storage/x.cpp", '#include "jobs/submit.h"\n'),
    ("dependencies", "platform/base/x.cpp", '\n#include "storage/jobs/job_queries.h"\n'),
    ("dependencies", "ai/engines/host/main.cpp", '#include "storage/jobs/job_queries.h"\n'),
    ("root-relative", "api/x.cpp", '#include "routes.h"\n'),
    ("third-party", "api/x.cpp", "#include <sqlite3.h>\n"),
    ("third-party", "api/x.cpp", "#include <pistache/endpoint.h>\n"),
    ("third-party", "jobs/x.cpp", "#include <librdkafka/rdkafka.h>\n"),
    ("third-party", "platform/base/x.cpp", "#include <spdlog/spdlog.h>\n"),
    ("third-party", "jobs/x.cpp", "#include <asio/awaitable.hpp>\n"),
    ("third-party", "storage/x.cpp", "#include <CLI/CLI.hpp>\n"),
    ("movers", "api/x.cpp", '#include "storage/jobs/job_outcomes.h"\n'),
    ("database-file", "storage/x.cpp", 'void f() { std::ifstream in(data + "/millrace.db"); }\n'),
    ("database-file", "storage/x.cpp", 'int fd = ::open((path + "-wal").c_str(), 0);\n'),
    ("map", "docs/architecture.md", "Everything may use everything.\n"),
    ("await-lambda", "api/x.cpp", "Task f() {\n  co_await g(\n      [this] { return 1; });\n}\n"),
    ("await-lambda", "api/x.cpp", "Task f() { auto x = co_await g(1, [&](int n) mutable { return n; }); }\n"),
    ("await-aggregate", "api/x.cpp", "Task f() { co_await fetch(Options{.name = n}); }\n"),
    ("await-aggregate", "api/x.cpp", "Task f() { co_await fetch({.name = n}); }\n"),
]


@pytest.mark.parametrize("rule, name, text", BROKEN)
def test_each_rule_fires_with_its_place(tree, rule, name, text):
    put(tree, name, text)
    done = run(LAYERS, tree)
    assert done.returncode == 1
    assert f"{name}:" in done.stdout and f"[{rule}]" in done.stdout


FINE = [
    ("api/x.cpp", '#include "storage/jobs/job_queries.h"\n#include "jobs/submit.h"\n'),
    ("storage/x.cpp", "#include <sqlite3.h>\n"),
    ("storage/x.cpp", '// #include "jobs/submit.h" was here\n'),
    ("storage/x.cpp", 'int rc = sqlite3_open_v2("millrace.db", &db, flags, nullptr);\n'),
    ("storage/x.cpp", 'auto size = file_size(path + "-wal");\n'),
    ("api/x.cpp", "Task f() { Options o{.name = n}; co_await fetch(std::move(o)); }\n"),
    ("api/x.cpp", "Task f() { if (co_await ready()) { post([this] { run(); }); } }\n"),
    ("api/x.cpp", "Task f() { co_await g(rows[i]); }\n"),
]


@pytest.mark.parametrize("name, text", FINE)
def test_what_is_allowed_passes(tree, name, text):
    put(tree, name, text)
    done = run(LAYERS, tree)
    assert done.returncode == 0, done.stdout


def test_the_table_lists_every_module_and_its_dependencies(tree):
    done = run(LAYERS, tree, "--table")
    assert "| jobs | `jobs/` | storage, base |" in done.stdout
    assert "| base | `platform/base/` | – |" in done.stdout


def test_a_long_file_is_reported_and_passes(tree):
    put(tree, "jobs/long.cpp", "int x;\n" * 501)
    done = run(SIZES, tree)
    assert done.returncode == 0
    assert "jobs/long.cpp:1: [file-size] 501 lines" in done.stdout


@pytest.mark.parametrize("name, head, line, tail", [
    ("jobs/f.cpp", "int f(int n) {\n", "  n += 1;\n", "}\n"),
    ("jobs/f.cpp", "X::X(int n)\n    : n_(n),\n      m_(n) {\n", "  n += 1;\n", "}\n"),
    ("scripts/f.py", "def f(n):\n", "    n += 1\n", ""),
])
def test_a_function_past_its_bound_is_reported_and_passes(tree, name, head, line, tail):
    put(tree, name, head + line * 70 + tail)
    done = run(SIZES, tree)
    assert done.returncode == 0
    assert f"{name}:1: [function-size]" in done.stdout


def test_a_function_within_its_bound_is_not_reported(tree):
    put(tree, "jobs/f.cpp", "int f(int n) {\n" + "  n += 1;\n" * 50 + "}\n")
    assert run(SIZES, tree).stdout == ""


def hidden(declaration):
    return f"namespace millrace {{\nnamespace {{\n\n{declaration}\n\n}}  // namespace\n}}  // namespace millrace\n"


@pytest.mark.parametrize("first, second", [("Row& row", "const Row& row"), ("Row row", "const Row& row"), ("Row&& row, int n", "Row row, int n")])
def test_overloads_that_differ_only_in_const_or_reference_are_reported(tree, first, second):
    put(tree, "storage/first.cpp", hidden(f"int rows({first}) {{"))
    put(tree, "storage/second.cpp", hidden(f"int rows({second}) {{"))
    done = run(NAMES, tree)
    assert done.returncode == 1 and "storage/second.cpp:4: [names]" in done.stdout, done.stdout


@pytest.mark.parametrize("declaration", [
    "constexpr std::size_t kRows = 4;", "struct Row {\n  int a;\n};", "enum class Row { kA };",
    "const std::map<int, std::string> kRows{\n};", "int rows(const std::string& text, int n = 1) {",
    "template <class T>\nT rows(const std::string& text,\n       int most) {"])
def test_a_name_of_two_files_is_found_at_the_second(tree, declaration):
    put(tree, "storage/first.cpp", hidden(declaration))
    put(tree, "storage/second.cpp", hidden(declaration))
    done = run(NAMES, tree)
    assert done.returncode == 1 and "storage/second.cpp:4: [names] first.cpp has a `" in done.stdout, done.stdout


@pytest.mark.parametrize("first, second", [
    ("int rows(int n) {", "int rows(const std::string& text) {"),
    ("using Row = int;", "using Row = int;"),
    ('constexpr const char* kA = R"(\nint rows = 1;\n)";', 'constexpr const char* kB = R"(\nint rows = 2;\n)";')])
def test_what_unity_files_can_hold_passes(tree, first, second):
    put(tree, "storage/first.cpp", hidden(first))
    put(tree, "storage/second.cpp", hidden(second))
    put(tree, "jobs/third.cpp", hidden(first))
    done = run(NAMES, tree)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def documents(tree):
    """A small tree with two pages, whose references are right."""
    put(tree, "docs/design/delivery.md", "# Delivery\n\n## 1. States\n\n### 1.1 Final states\n\n## 2. Leases\n")
    put(tree, "docs/adr/0001-a-decision.md", "# A decision\n")
    put(tree, "README.md", "[Leases](docs/design/delivery.md#2-leases), [states](docs/design/delivery.md), [jobs](jobs/), [here](#top)\n\n# Top\n")
    put(tree, "jobs/submit.h", "#pragma once\n// docs/design/delivery.md §1.1 and ADR 1; see storage/jobs/job_intake.h.\n")
    subprocess.run(["git", "init", "-q", tree], check=True)
    return tree


def test_this_tree_has_only_valid_references():
    done = run(REFERENCES, ROOT)
    assert done.returncode == 0, done.stdout


def test_valid_references_pass_silently(documents):
    done = run(REFERENCES, documents)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("rule, name, text", [
    ("page", "jobs/x.cpp", "// docs/design/absent.md says why.\n"),
    ("section", "jobs/x.cpp", "// docs/design/delivery.md §3 says why.\n"),
    ("section", "jobs/y.cpp", "// The reason is in docs/design/delivery.md\n  // §3.\n"),
    ("section", "tests/x.py", "# docs/design/delivery.md §1.2\n"),
    ("adr", "jobs/x.cpp", "int x;  // ADR 2\n"),
    ("path", "jobs/x.cpp", "// jobs/absent.h has it.\n"),
    ("path", "docs/x.md", "Look into `jobs/absent.cpp`.\n"),
    ("outside", "jobs/x.cpp", "// delivery.md has the rule.\n"),
    ("link", "docs/x.md", "[there](absent.md)\n"),
    ("link", "docs/x.md", "[there](design/delivery.md#3-clocks)\n"),
])
def test_an_invalid_reference_is_found(documents, rule, name, text):
    put(documents, name, text)
    done = run(REFERENCES, documents)
    assert done.returncode == 1 and f"{name}:1: [{rule}]" in done.stdout, done.stdout


@pytest.mark.parametrize("name, text", [
    ("jobs/x.cpp", 'const char* kName = "docs/absent.md jobs/absent.h";\n'),
    ("docs/x.md", "```\n[not a link](absent.md)\n```\n"),
    ("docs/adr/0001-a-decision.md", "It was in jobs/absent.cpp.\n"),
])
def test_what_is_no_reference_passes(documents, name, text):
    put(documents, name, text)
    done = run(REFERENCES, documents)
    assert (done.returncode, done.stdout) == (0, "")
