"""Fault injection for the files of one data directory: syncs that fail with EIO, a moved wall clock, and a record of all changes of the files
(tests/support/store_faults.c, which defines the classes of files; power_cut.py builds images from the record).
Standard library only."""

import functools
import mmap
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("store_faults.c")
CLASSES = ("database", "log", "blob", "folder", "other")
STATE = struct.Struct("<iIi")  # per class: syncs that will fail (-1: all), syncs that have failed, the errno of writes (0: they succeed)
ROLE_BYTES = 32
ROLE_AT = STATE.size * len(CLASSES)
RECORD_END = struct.Struct("<Q")
RECORD_END_AT = (ROLE_AT + ROLE_BYTES + 7) // 8 * 8  # aligned, as in C
CLOCK_OFFSET = struct.Struct("<q")  # milliseconds
ALL = -1


@functools.cache
def library():
    """The library, compiled once per session."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler (cc)")
    folder = tempfile.TemporaryDirectory(prefix="store-faults-")
    library.folder = folder  # it is deleted with the session
    path = Path(folder.name) / "store_faults.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, SOURCE]
    made = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 0, made.stderr
    return path


class StoreFaults:
    """The faults of one data directory, for all processes that are started with the environment `env()`."""

    def __init__(self, data, record=False):
        self.data = Path(data)
        self._control_path = self.data.parent / f"{self.data.name}.faults"
        self._record_path = self.data.parent / f"{self.data.name}.record" if record else None
        self._control_path.write_bytes(bytes(mmap.PAGESIZE))
        with open(self._control_path, "r+b") as file:
            self._control = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def env(self, role=""):
        variables = {
            "LD_PRELOAD": str(library()),
            "STORE_FAULTS_DIR": str(self.data),
            "STORE_FAULTS_CONTROL": str(self._control_path),
            "STORE_FAULTS_ROLE": role,
        }
        if self._record_path:
            variables["STORE_FAULTS_RECORD"] = str(self._record_path)
        return variables

    def arm(self, *classes, times=ALL, role=""):
        """Makes the next syncs of these classes fail, in all processes or in the one with this role."""
        self._control[ROLE_AT : ROLE_AT + ROLE_BYTES] = role.encode().ljust(ROLE_BYTES, b"\0")
        for name in classes:
            self._set_failing(name, times)

    def refuse_writes(self, *classes, error):
        """Makes every write to these classes fail with this errno until `disarm`."""
        for name in classes:
            at = self._at(name) + STATE.size - 4
            self._control[at : at + 4] = struct.pack("<i", error)

    def disarm(self):
        self.refuse_writes(*CLASSES, error=0)
        for name in CLASSES:
            self._set_failing(name, 0)

    def move_clock(self, seconds):
        """The wall clock is ahead by this from now on."""
        CLOCK_OFFSET.pack_into(self._control, RECORD_END_AT + RECORD_END.size, round(seconds * 1000))

    def hits(self, *classes):
        """How many syncs have failed."""
        return sum(STATE.unpack_from(self._control, self._at(name))[1] for name in classes or CLASSES)

    def recorded(self):
        """The record up to now."""
        (end,) = RECORD_END.unpack_from(self._control, RECORD_END_AT)
        with open(self._record_path, "rb") as file:
            return file.read(end)

    def _at(self, name):
        return CLASSES.index(name) * STATE.size

    def _set_failing(self, name, times):
        at = self._at(name)
        self._control[at : at + 4] = struct.pack("<i", times)
