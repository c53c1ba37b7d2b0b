"""Images of a data directory as a power cut leaves it, from a record of store_faults.c. Standard library only.

The model is that of Linux and ext4. A file has blocks in the page cache and on the disk. A sync that succeeds brings all
dirty blocks to the disk. One that fails does not, and leaves them clean all the same: no later sync writes them, unless
somebody writes to them again. Of a block that is dirty at the cut, any of its versions may be on the disk. An entry of a
folder is durable when the folder was synced, or what the entry names."""

import random
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = 4096
MAGIC = 0x53464C54
HEAD = struct.Struct("<IBBHHHIQQQ")


@dataclass
class Event:
    kind: str
    failed: bool
    path: str
    target: str  # of a rename or a link
    inode: int
    offset: int
    length: int
    data: bytes


def events_of(record):
    events, at = [], 0
    while at < len(record):
        magic, kind, failed, path_bytes, target_bytes, _, data_bytes, inode, offset, length = HEAD.unpack_from(record, at)
        assert magic == MAGIC, f"no entry at byte {at} of the record"
        at += HEAD.size
        parts = []
        for size in (path_bytes, target_bytes, data_bytes):
            parts.append(record[at : at + size])
            at += size
        events.append(Event(chr(kind), bool(failed), parts[0].decode(), parts[1].decode(), inode, offset, length, parts[2]))
    return events


class Chance:
    """What becomes of that which no sync covers: `none` of it is on the disk, `all`, or what a seed says."""

    def __init__(self, mode):
        self._mode = mode
        self._random = random.Random(mode)

    def version(self, count):
        """Of so many versions, from the oldest to the newest, the one that is on the disk."""
        if self._mode in ("none", "all"):
            return 0 if self._mode == "none" else count - 1
        return self._random.randrange(count)

    def happens(self):
        return self.version(2) == 1

    def survives_failure(self):
        """Of the blocks of a failed sync some may have got to the disk; the modes that are no seed have none of them."""
        return self._mode not in ("none", "all") and self._random.random() < 0.5


@dataclass
class Resize:
    number: int
    size: int
    cuts: bool


@dataclass
class File:
    cache: bytearray
    disk: bytearray
    versions: dict = field(default_factory=dict)  # of each dirty block: (number of the event, bytes)
    resizes: list = field(default_factory=list)  # since the last sync that succeeded

    def write(self, number, offset, data):
        end = offset + len(data)
        if end > len(self.cache):
            self.resize(number, end)
        self.cache[offset:end] = data
        for block in range(offset // BLOCK, (end + BLOCK - 1) // BLOCK):
            self._note(number, block)

    def resize(self, number, size):
        cuts = size < len(self.cache)
        self.resizes.append(Resize(number, size, cuts))
        _resize(self.cache, size)
        if cuts and size % BLOCK:
            self._note(number, size // BLOCK)

    def synced(self):
        for resize in self.resizes:
            _resize(self.disk, resize.size)
        self._bring(self.versions)
        self.versions.clear()
        self.resizes.clear()

    def sync_failed(self, chance):
        self._bring([block for block in self.versions if chance.survives_failure()])
        self.versions.clear()

    def _note(self, number, block):
        content = bytes(self.cache[block * BLOCK : (block + 1) * BLOCK]).ljust(BLOCK, b"\0")
        self.versions.setdefault(block, []).append((number, content))

    def _bring(self, blocks):
        for block in blocks:
            begin, end = block * BLOCK, min((block + 1) * BLOCK, len(self.cache))
            if begin < end:
                _resize(self.disk, max(len(self.disk), end))
                self.disk[begin:end] = self.cache[begin:end]

    def after_cut(self, chance):
        """The size changes in order. A block that was cut off has no version from before the cut, and one that is still
        there has none from after it."""
        done = chance.version(len(self.resizes) + 1)
        content, last_cut = bytearray(self.disk), None
        for resize in self.resizes[:done]:
            _resize(content, resize.size)
            last_cut = resize if resize.cuts else last_cut
        size = len(content)
        next_cut = next((resize.number for resize in self.resizes[done:] if resize.cuts), None)
        for block, versions in self.versions.items():
            possible = [
                version
                for number, version in versions
                if (next_cut is None or number < next_cut)
                and (last_cut is None or number >= last_cut.number or block < last_cut.size // BLOCK)
            ]
            chosen = chance.version(len(possible) + 1)
            if chosen > 0:
                _resize(content, max(len(content), (block + 1) * BLOCK))
                content[block * BLOCK : (block + 1) * BLOCK] = possible[chosen - 1]
        _resize(content, size)
        return content


def _resize(content, size):
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


@dataclass
class Change:
    """Of an entry of a folder."""

    event: Event
    file: File  # None: a folder
    durable: bool = False

    def names(self):
        return self.event.target or self.event.path


class DataDirectory:
    """Follows a record from the state that `base` has, which is durable as a whole."""

    def __init__(self, root, base=None):
        self._root, self._base = str(root), base
        self._open = {}  # of each inode that has a name: its File
        self._names = {}
        self._changes = []

    def follow(self, events, chance):
        for number, event in enumerate(events):
            if event.kind in "CMRLU":
                self._change(event)
            elif event.kind == "F":
                self._folder_synced(event)
            else:
                self._content(number, event, chance)

    def _folder_synced(self, event):
        if not event.failed:
            self._make_durable(lambda change: event.path in (_parent(change.event.path), _parent(change.names())), event.path)

    def _change(self, event):
        if event.kind == "C":
            self._open[event.inode] = self._names[event.path] = File(bytearray(), bytearray())
        elif event.kind in "RL":
            self._names[event.target] = self._file(event, event.path)
            if event.kind == "R":
                self._names.pop(event.path, None)
        file = None if event.kind == "M" else self._names.get(event.target or event.path)
        if event.kind == "U":
            file = self._names.pop(event.path, None)
            if file not in self._names.values():
                self._open.pop(event.inode, None)
        self._changes.append(Change(event, file))

    def _content(self, number, event, chance):
        file = self._file(event, event.path)
        if event.kind == "W":
            file.write(number, event.offset, event.data)
        elif event.kind == "T":
            file.resize(number, event.length)
        elif event.kind == "A":
            if event.offset + event.length > len(file.cache):
                file.resize(number, event.offset + event.length)
        elif event.failed:
            file.sync_failed(chance)
        else:
            file.synced()
            self._make_durable(lambda change: change.file is file and change.names() == event.path, event.path)

    def _file(self, event, path):
        """One that the record does not show being made was there before, or was made by a call that is not recorded."""
        if event.inode not in self._open:
            before = Path(self._base, Path(path).relative_to(self._root)) if self._base else None
            content = before.read_bytes() if before and before.is_file() else b""
            file = File(bytearray(content), bytearray(content))
            self._open[event.inode] = self._names[path] = file
            self._changes.append(Change(Event("C", False, path, "", event.inode, 0, 0, b""), file, bool(before)))
        return self._open[event.inode]

    def _make_durable(self, covered, path):
        """As a commit of ext4's journal has it, the folders above are durable, too."""
        for change in self._changes:
            is_above = change.event.kind == "M" and (path + "/").startswith(change.event.path + "/")
            if not change.durable and (is_above or covered(change)):
                change.durable = True

    def write_image(self, target, chance):
        target = Path(target)
        if self._base:
            shutil.copytree(self._base, target, ignore=shutil.ignore_patterns("*-shm"))
        else:
            target.mkdir(mode=0o711)
        names = {}
        for change in self._changes:
            if not change.durable and not chance.happens():
                continue
            event = change.event
            if event.kind in "RU":
                names.pop(event.path, None)
                _remove(self._place(target, event.path))
            if event.kind != "U":
                names[change.names()] = change.file
        for path, file in sorted(names.items()):
            place = self._place(target, path)
            if not place.parent.is_dir():
                continue
            if file is None:
                place.mkdir(mode=0o700, exist_ok=True)
            else:
                place.write_bytes(file.after_cut(chance))
                place.chmod(0o600)

    def _place(self, target, path):
        return target / Path(path).relative_to(self._root)


def _parent(path):
    return path.rpartition("/")[0]


def _remove(place):
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def image(record, root, target, mode, base=None):
    """Writes to `target` what a power cut at the end of `record` leaves of the data directory `root`. `mode`: none, all, or
    a seed."""
    chance = Chance(mode)
    directory = DataDirectory(root, base)
    directory.follow(events_of(record), chance)
    directory.write_image(target, chance)
    return Path(target)
