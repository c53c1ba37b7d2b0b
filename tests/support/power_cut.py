"""Builds images of a data directory after a power cut, from a record of store_faults.c. Standard library only.

The model is that of Linux and ext4. A file has blocks in the page cache and on the disk. A successful sync writes all dirty
blocks to the disk. A failed sync does not, but still marks them as clean: no later sync writes them, unless they are written
to again. If a block is dirty at the power cut, any of its versions may be on the disk. An entry of a folder is durable after
a sync of the folder, or of the file that the entry names."""

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
    """Decides what is on the disk of the changes that no sync covers: `none`, `all`, or a choice by a seed."""

    def __init__(self, mode):
        self._mode = mode
        self._random = random.Random(mode)

    def version(self, count):
        """The index of the version that is on the disk, of `count` versions from the oldest to the newest."""
        if self._mode in ("none", "all"):
            return 0 if self._mode == "none" else count - 1
        return self._random.randrange(count)

    def happens(self):
        return self.version(2) == 1

    def survives_failure(self):
        """Whether a block of a failed sync is on the disk. With a seed, some of them may be; in the other modes, none is."""
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
    versions: dict = field(default_factory=dict)  # for each dirty block: (number of the event, bytes)
    resizes: list = field(default_factory=list)  # since the last successful sync

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
        """Size changes apply in order. A block that was truncated has no version from before the truncation; a block that still
        exists has none from after it."""
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
    """A change of a folder entry."""

    event: Event
    file: File  # None: a folder
    durable: bool = False

    def names(self):
        return self.event.target or self.event.path


class DataDirectory:
    """Applies a record to the state in `base`, which is completely durable."""

    def __init__(self, root, base=None):
        self._root, self._base = str(root), base
        self._open = {}  # the File of each inode that has a name
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
        """A file whose creation is not in the record existed before, or was created by a call that is not recorded."""
        if event.inode not in self._open:
            before = Path(self._base, Path(path).relative_to(self._root)) if self._base else None
            content = before.read_bytes() if before and before.is_file() else b""
            file = File(bytearray(content), bytearray(content))
            self._open[event.inode] = self._names[path] = file
            self._changes.append(Change(Event("C", False, path, "", event.inode, 0, 0, b""), file, bool(before)))
        return self._open[event.inode]

    def _make_durable(self, covered, path):
        """As after a commit of the ext4 journal, the folders above are durable, too."""
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
    """Writes to `target` the state of the data directory `root` after a power cut at the end of `record`. `mode`: none, all,
    or a seed."""
    chance = Chance(mode)
    directory = DataDirectory(root, base)
    directory.follow(events_of(record), chance)
    directory.write_image(target, chance)
    return Path(target)
