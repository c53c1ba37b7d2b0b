"""Shell completions and man pages are generated from the program's commands, and shells and man accept them."""

import subprocess

import pytest
from millrace import BUILD

MILLRACE = BUILD / "millrace"


def output(*words):
    ran = subprocess.run([MILLRACE, *words], capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def in_bash(script, words):
    line = " ".join(f"'{word}'" for word in words)
    completion = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _millrace; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return ["bash", "--norc", "-c", completion]


def in_fish(script, words):
    return ["fish", "--no-config", "-c", f"source {script}; complete -C '{' '.join(words)}' | string split -f 1 \\t"]


def in_zsh(script, words):
    """Calls the function as zsh's completion does, with replacements for the builtins that offer completions."""
    line = " ".join(f"'{word}'" for word in words)
    completion = (
        "compdef() { :; }; _files() { print FILES; }; compadd() { shift; print -l -- ${(M)@:#${words[CURRENT]}*}; }; "
        f"words=({line}); CURRENT={len(words)}; source {script}; _millrace"
    )
    return ["zsh", "-f", "-c", completion]


@pytest.mark.parametrize(("shell", "in_shell"), [("bash", in_bash), ("zsh", in_zsh), ("fish", in_fish)])
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["millrace", "doc"], {"doctor"}),
        (["millrace", "jobs", "ca"], {"cancel"}),
        (["millrace", "ocr", "--out"], {"--output"}),
        (["millrace", "jobs", "ls", "--stat"], {"--status"}),
        (["millrace", "jobs", "list", "--stat"], {"--status"}),
        (["millrace", "serve", "--store.wal"], {"--store.wal-max"}),
    ],
)
def test_a_shell_completes_commands_and_flags(tmp_path, shell, in_shell, words, offers):
    script = tmp_path / "completion"
    script.write_text(output("completion", shell))
    ran = subprocess.run(in_shell(script, words), capture_output=True, text=True, timeout=30, check=False)
    assert set(ran.stdout.split()) == offers and not ran.stderr, (ran.stdout, ran.stderr)


@pytest.mark.parametrize(
    "words", [["millrace", "ocr", "--output", ""], ["millrace", "ocr", "-o", ""], ["millrace", "ocr", ""], ["millrace", "jobs", "ls", "--kind", "--"]]
)
def test_where_a_value_or_a_file_belongs_no_flag_is_offered(tmp_path, words):
    """bash then completes file names."""
    for shell, in_shell, expected in (("bash", in_bash, ""), ("zsh", in_zsh, "FILES")):
        script = tmp_path / shell
        script.write_text(output("completion", shell))
        ran = subprocess.run(in_shell(script, words), capture_output=True, text=True, timeout=30, check=False)
        assert ran.stdout.strip() == expected and not ran.stderr, (shell, ran.stdout, ran.stderr)


def test_flags_are_offered_after_a_dash_alone(tmp_path):
    script = tmp_path / "completion"
    script.write_text(output("completion", "bash"))
    offered = [set(subprocess.run(in_bash(script, ["millrace", "jobs", word]), capture_output=True, text=True, check=True).stdout.split()) for word in ("", "-")]
    assert {"ls", "show"} <= offered[0] and not any(word.startswith("-") for word in offered[0])
    assert "--help" in offered[1] and all(word.startswith("-") for word in offered[1])


def test_an_unknown_shell_is_a_usage_error():
    assert subprocess.run([MILLRACE, "completion", "tcsh"], capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize("command", [None, "serve", "ocr", "jobs", "machines", "ssh-ca", "backup"])
def test_a_page_is_one_that_man_reads_without_a_warning(command):
    page = output("manual", *([command] if command else []))
    ran = subprocess.run(
        ["groff", "-K", "utf8", "-ww", "-man", "-T", "utf8", "-P", "-cbou"], input=page, capture_output=True, text=True, timeout=30, check=False
    )
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    assert "SYNOPSIS" in ran.stdout
