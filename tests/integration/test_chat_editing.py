"""Typing at `millrace chat`: lines are edited in place, recalled, and joined to multi-line messages."""

import termios

import openai_replies
import pytest
from commands import on_terminal
from model_gateway import model_gateway

LEFT, UP, BACKSPACE, HOME, SEARCH_BACK = "\x1b[D", "\x1b[A", "\x7f", "\x01", "\x12"


@pytest.fixture
def behind(tmp_path, upstream):
    upstream.reply_always(openai_replies.stream("So it is."))
    gateway = model_gateway(tmp_path, [("mine", "openai", "mine", f"{upstream.url}/v1")])
    yield gateway
    gateway.close()


def conversation(gateway, *questions, **env):
    """Types messages of one or more lines, each after the response to the one before; returns everything that was shown."""
    with on_terminal(gateway, "chat", "-m", "mine", **env) as terminal:
        for first, *others in questions:
            terminal.until("> ")
            terminal.type(first)
            for line in others:
                terminal.until(". ")
                terminal.type(line)
            terminal.until("So it is.")
        terminal.until("> ")
        terminal.type("\x04")
        shown, code = terminal.end()
        assert code == 0, shown
        return shown


def questions(upstream):
    return [seen.json["messages"][-1]["content"] for seen in upstream.requests]


def test_a_line_is_edited_in_place(behind, upstream):
    conversation(
        behind,
        ["why is it drak" + BACKSPACE * 3 + "ark?\n"],
        ["ell" + LEFT * 3 + "W" + "\n"],
        ["good mill" + HOME + "a \n"],
    )
    assert questions(upstream) == ["why is it dark?", "Well", "a good mill"]


def test_characters_beyond_ascii_are_one_each(behind, upstream):
    conversation(behind, ["Mühleé" + BACKSPACE + " 水車?\n"], LC_ALL="C")
    assert questions(upstream) == ["Mühle 水車?"]


def test_an_earlier_line_is_recalled_and_searched_for(behind, upstream):
    conversation(behind, ["first\n"], ["second\n"], [UP + UP + " again\n"], [SEARCH_BACK + "sec\x1b\n"])
    assert questions(upstream) == ["first", "second", "first again", "second"]


def test_lines_of_an_earlier_conversation_are_recalled_unless_they_begin_with_a_blank(behind, upstream, tmp_path):
    history = tmp_path / "state" / "history"
    conversation(behind, ["kept\n"], [" not kept\n"], MILLRACE_CHAT_HISTORY=str(history))
    assert history.read_text() == "kept\n" and history.stat().st_mode & 0o777 == 0o600
    conversation(behind, [UP + "!\n"], MILLRACE_CHAT_HISTORY=str(history))
    assert questions(upstream) == ["kept", " not kept", "kept!"]


def test_a_question_of_several_lines(behind, upstream):
    conversation(behind, ["one\\\n", "two\n"], ['"""\n', "if a:\n", '/exit"""\n'])
    assert questions(upstream) == ["one\ntwo", "if a:\n/exit"]


def test_ctrl_c_clears_a_half_typed_message(behind, upstream):
    with on_terminal(behind, "chat", "-m", "mine") as terminal:
        terminal.until("> ")
        terminal.type("one\\\n")
        terminal.until(". ")
        terminal.type("two\x03")
        terminal.until("Ctrl-D ends")
        terminal.until("> ")
        terminal.type("three\n")
        terminal.until("So it is.")
    assert questions(upstream) == ["three"]


def test_a_terminal_that_cannot_move_its_cursor_reads_plain_lines(behind, upstream):
    shown = conversation(behind, ["plain\n"], TERM="dumb")
    assert "\x1b" not in shown
    assert questions(upstream) == ["plain"]


def test_line_editing_restores_the_terminal_settings(behind):
    before = None
    with on_terminal(behind, "chat", "-m", "mine") as terminal:
        before = termios.tcgetattr(terminal.master)
        terminal.until("> ")
        assert termios.tcgetattr(terminal.master)[3] & termios.ICANON == 0
        terminal.type("half a line\x03")
        terminal.until("> ")
        terminal.type("\x03")
        assert terminal.end()[1] == 130
        assert termios.tcgetattr(terminal.master)[3] == before[3]
