"""The hardening flags of the programs, read from the files that scripts/install installs."""

import os
import re
import subprocess

import pytest
from millrace import BUILD

DYNAMIC = ("millrace", "millrace-engine")
PROGRAMS = (*DYNAMIC, "millrace-jail-init")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", "program"], check=True, capture_output=True, timeout=120)
    return prefix / "lib/millrace"


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_is_loaded_at_a_random_address(installed, program):
    assert re.search(r"Type:\s+DYN ", output("readelf", "-h", installed / program))
    assert re.search(r"FLAGS_1.*\bPIE\b", output("readelf", "-dW", installed / program))


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_resolves_all_symbols_at_its_start_and_then_makes_their_table_read_only(installed, program):
    assert re.search(r"FLAGS_1.*\bNOW\b", output("readelf", "-dW", installed / program))
    assert "GNU_RELRO" in output("readelf", "-lW", installed / program)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_has_an_executable_stack(installed, program):
    (stack,) = re.findall(r"GNU_STACK.*", output("readelf", "-lW", installed / program))
    assert " RWE " not in stack


@pytest.mark.parametrize("program", PROGRAMS)
def test_functions_begin_with_the_instruction_that_indirect_branches_require(installed, program):
    if "X86-64" not in output("readelf", "-h", installed / program):
        pytest.skip("CET exists on x86 only")
    lines = output("objdump", "-d", "--no-show-raw-insn", "--disassemble=main", installed / program).splitlines()
    assert "endbr64" in lines[next(i for i, line in enumerate(lines) if line.endswith("<main>:")) + 1]


@pytest.mark.parametrize("program", DYNAMIC)
def test_programs_check_the_stack_and_the_sizes_of_buffers(installed, program):
    symbols = output("readelf", "--dyn-syms", "-W", installed / program)
    assert "__stack_chk_fail" in symbols
    assert re.search(r"\b__(memcpy|snprintf)_chk\b", symbols)


def test_the_first_process_of_a_jail_checks_its_stack(installed):
    """The C library that it contains has such checks anyway; so they count only in its own functions."""
    own, ours = False, 0
    for line in output("objdump", "-dC", "--no-show-raw-insn", installed / "millrace-jail-init").splitlines():
        if line.endswith(">:"):
            own = "millrace::" in line
        ours += own and "<__stack_chk_fail" in line
    assert ours > 3


@pytest.mark.parametrize(("constructor", "starts"), [("pause();", False), ("", True)])
def test_a_preloaded_library_that_stops_the_start_is_named(tmp_path, constructor, starts):
    source = tmp_path / "preload.c"
    source.write_text("#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { %s }\n" % constructor)
    library = tmp_path / "preload.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=120)
    env = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run([BUILD / "millrace", "--version"], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == starts
    assert (f"Unset LD_PRELOAD={library}" in done.stderr) != starts, done.stderr
