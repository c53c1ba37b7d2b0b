"""The code blocks of a Markdown document, and the comments directly above them that describe how to test them."""

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(\w*)$")
MARK = re.compile(r"^<!-- (.+?) -->$")
TESTED = re.compile(r"tested(?:; exit code (\d+))?(?:; it prints: (.+))?$")
NOT_HERE = re.compile(r"not run here: (.+)$")

# Commands that the tests must not run for a document. Each is tested elsewhere, or by hand.
ELSEWHERE = [
    (re.compile(r"^(docker|docker-compose) ", re.M), "docker: scripts/test-compose runs the stack"),
    (re.compile(r"^scripts/(run|test|setup|build|bench|kafka|install)\b", re.M), "installs, builds or takes long: CI runs it"),
    (re.compile(r"^(sudo|apt|apt-get|dpkg|systemctl|git clone) ", re.M), "changes the host"),
]


@dataclass
class Block:
    document: Path
    line: int
    language: str
    text: str
    mark: str  # the text of the comment; empty if there is none

    @property
    def place(self):
        return f"{self.document}:{self.line}"

    @property
    def not_here(self):
        """The reason why this shell block is not run, or None."""
        mark_match = NOT_HERE.match(self.mark)
        if mark_match:
            return mark_match.group(1)
        return next((why for pattern, why in ELSEWHERE if pattern.search(self.text)), None)

    @property
    def exit_code(self):
        mark_match = TESTED.match(self.mark)
        return int(mark_match.group(1) or 0) if mark_match else 0

    @property
    def prints(self):
        """What its output must contain; empty if any output is allowed."""
        mark_match = TESTED.match(self.mark)
        return (mark_match.group(2) or "") if mark_match else ""


def blocks_of(document, root):
    """All blocks in order. An unknown mark, or a mark without a block below it, is an error."""
    found, mark, begun = [], ("", 0), None
    for number, line in enumerate((root / document).read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if begun:
            if line == "```":
                found.append(Block(document, begun[0], begun[1], "".join(f"{text}\n" for text in begun[2]), begun[3]))
                begun = None
            else:
                begun[2].append(line)
        elif fence:
            begun = (number, fence.group(1), [], mark[0] if mark[1] == number - 1 else "")
        elif MARK.match(line):
            mark = (MARK.match(line).group(1), number)
            if mark[0].startswith("tested") and not TESTED.match(mark[0]):
                raise ValueError(f"{document}:{number}: unknown mark {mark[0]}")
        elif mark[1] == number - 1 and mark[0].startswith(("tested", "not run")):
            raise ValueError(f"{document}:{mark[1]}: a mark must be directly above its block")
    return found
