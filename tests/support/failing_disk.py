"""A disk with a real ext4 whose writes can be made to fail: a loop device uses the only file of a FUSE file system as its disk.
What is written to the FUSE file is on the disk (`disk.img` in the folder) and survives a power cut.

Run as a program, this file is the FUSE file system: failing_disk.py MOUNT IMAGE CONTROL"""

import ctypes
import errno
import functools
import mmap
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from millrace import eventually

DISK_BYTES = 1 << 30
BLOCK = 4096
HEAD = struct.Struct("<II")  # of the control file: how many ranges fail, how many writes have failed
RANGE = struct.Struct("<QQ")  # first byte, byte after the last
RANGES_MAX = 4000
CONTROL_BYTES = 64 << 10
EXTENT = re.compile(r"^ *\d+: +\d+\.\. *\d+: +(\d+)\.\. *(\d+):", re.MULTILINE)
KERNEL_MOUNTS = Path("/proc/fs/ext4")
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
PROGRAMS = ("losetup", "mkfs.ext4", "filefrag", "mount", "umount")


@functools.cache
def why_not_here():
    """What this machine lacks; empty if nothing."""
    if os.geteuid() != 0:
        return "only root may mount"
    missing = [path for path in ("/dev/fuse", "/dev/loop-control") if not os.path.exists(path)]
    missing += [program for program in PROGRAMS if not shutil.which(program)]
    try:
        import fusepy  # noqa: F401
    except (ImportError, OSError):
        missing.append("python3-fusepy")
    if missing:
        return f"not here: {', '.join(missing)}"
    free = subprocess.run(["losetup", "-f"], capture_output=True, text=True, check=False)
    return "" if free.returncode == 0 else f"no loop device is free: {free.stderr.strip()}"


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def unmount(place):
    """Retries, because a process that is just ending may keep the mount busy for a moment."""
    command = ["umount", str(place)]
    eventually(lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0, what=f"umount {place}")


@functools.cache
def have_own_mounts():
    """Moves the thread and its future children into a new mount namespace. Otherwise the jail of another test could copy the
    mounts and keep the disk mounted."""
    library = ctypes.CDLL(None, use_errno=True)
    assert library.unshare(NEW_MOUNTS) == 0, os.strerror(ctypes.get_errno())
    run("mount", "--make-rprivate", "/")


class Mounted:
    """An ext4 file system on a loop device for `file`, mounted until `close`."""

    def __init__(self, file, place, new=False):
        self.place = Path(place)
        self.place.mkdir()
        self._file = file
        self._is_mounted = False
        self._mount(new)

    def _mount(self, new=False):
        device = run("losetup", "-f", "--show", "--direct-io=on", self._file).strip()
        try:
            if new:
                run("mkfs.ext4", "-q", "-F", "-N", "8192", "-J", "size=16", "-E", "nodiscard,lazy_itable_init=0", device)
            run("mount", "-t", "ext4", "-o", "errors=continue", device, self.place)
        finally:
            run("losetup", "-d", device)  # when it is no longer mounted
        self._device, self._is_mounted = Path(device), True

    def remount(self):
        """Unmounts and mounts the disk, so that files are read from the disk again."""
        self.close()
        self._mount()

    def close(self):
        if self._is_mounted:
            unmount(self.place)
            self._is_mounted = False
            eventually(lambda: not (KERNEL_MOUNTS / self._device.name).exists(), what=f"{self._device} is free")


class FailingDisk:
    """A mounted disk on which writes to chosen blocks can be made to fail. Use it with `with`."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._undo = ExitStack()
        self._image = self._folder / "disk.img"

    def __enter__(self):
        have_own_mounts()
        try:
            self._serve()
            self.disk = Mounted(self._folder / "fuse" / "disk", self._folder / "mounted", new=True)
            self._undo.callback(self.disk.close)
            self.root = self.disk.place
            return self
        except BaseException:
            self._undo.close()
            raise

    def __exit__(self, *_):
        self.heal()
        self._undo.close()

    def _serve(self):
        mount, control = self._folder / "fuse", self._folder / "disk.control"
        mount.mkdir()
        with open(self._image, "wb") as image:
            image.truncate(DISK_BYTES)
        control.write_bytes(bytes(CONTROL_BYTES))
        with open(control, "r+b") as file:
            self._control = mmap.mmap(file.fileno(), CONTROL_BYTES)
        self._server = subprocess.Popen([sys.executable, "-B", __file__, mount, self._image, control], stdout=subprocess.PIPE)
        self._undo.callback(self._end_server)
        assert self._server.stdout.readline() == b"mounted\n", "the FUSE file system was not mounted"
        self._undo.callback(unmount, mount)

    def _end_server(self):
        try:
            self._server.wait(10)
        finally:
            self._server.kill()  # if something above failed
            self._server.communicate()

    def fail_writes_to(self, path):
        """Fails writes to the blocks that the file has now, and to no others: the ext4 journal continues to work."""
        run("sync", "-f", path)
        extents = EXTENT.findall(run("filefrag", "-v", "-b4096", path))
        assert 0 < len(extents) <= RANGES_MAX, f"{path} has {len(extents)} extents"
        for number, (first, last) in enumerate(extents):
            RANGE.pack_into(self._control, HEAD.size + number * RANGE.size, int(first) * BLOCK, (int(last) + 1) * BLOCK)
        self._control[0:4] = struct.pack("<I", len(extents))

    def heal(self):
        self._control[0:4] = bytes(4)

    def failed_writes(self):
        return HEAD.unpack_from(self._control)[1]

    def power_cut(self, place):
        """Mounts a copy of the current state of the disk at `place`."""
        copy = self._folder / f"{Path(place).name}.img"
        self._server.send_signal(signal.SIGSTOP)  # nothing is written meanwhile
        try:
            run("cp", "--sparse=always", self._image, copy)
        finally:
            self._server.send_signal(signal.SIGCONT)
        disk = Mounted(copy, place)
        self._undo.callback(disk.close)
        return disk


def serve(mount, image, control):
    import fusepy

    class OneFile(fusepy.Operations):
        def __init__(self):
            self._fd = os.open(image, os.O_RDWR)
            with open(control, "r+b") as file:
                self._control = mmap.mmap(file.fileno(), CONTROL_BYTES)

        def init(self, path):
            os.write(sys.stdout.fileno(), b"mounted\n")

        def getattr(self, path, fh=None):
            if path == "/":
                return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
            if path != "/disk":
                raise fusepy.FuseOSError(errno.ENOENT)
            return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": DISK_BYTES}

        def readdir(self, path, fh):
            return [".", "..", "disk"]

        def read(self, path, size, offset, fh):
            return os.pread(self._fd, size, offset)

        def write(self, path, data, offset, fh):
            if self._fails(offset, offset + len(data)):
                self._control[4:8] = struct.pack("<I", HEAD.unpack_from(self._control)[1] + 1)
                raise fusepy.FuseOSError(errno.EIO)
            return os.pwrite(self._fd, data, offset)

        def fsync(self, path, datasync, fh):
            return 0

        def _fails(self, begin, end):
            ranges = HEAD.unpack_from(self._control)[0]
            return any(
                first < end and begin < last
                for first, last in (RANGE.unpack_from(self._control, HEAD.size + n * RANGE.size) for n in range(ranges))
            )

    fusepy.FUSE(OneFile(), mount, foreground=True, nothreads=True, big_writes=True, max_read=1 << 17)


if __name__ == "__main__":
    serve(*sys.argv[1:])
