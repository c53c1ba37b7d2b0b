"""Runs inside a jail, as its user. Writes a JSON report to the file in its first argument: what a process there can see and
access. Then it prints `probed` and waits until it is ended. It ends or stops no other process. Standard library only."""

import ctypes
import errno
import json
import os
import re
import signal
import stat
import sys
import time

WALK_S = 60  # for the writable places
LIBC = ctypes.CDLL(None, use_errno=True)
OPEN = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def tried(action):
    """The result of `action`, or `!` and the name of its error."""
    try:
        return action()
    except OSError as error:
        return "!" + errno.errorcode.get(error.errno, str(error.errno))


def text(path):
    with open(path, "rb") as file:
        return file.read().decode(errors="replace")


def opens(path, flags):
    """Whether the file can be opened. For reading, one byte must also be read."""
    try:
        file = os.open(path, flags | OPEN)
    except OSError:
        return False
    try:
        return flags == os.O_WRONLY or stat.S_ISDIR(os.fstat(file).st_mode) or len(os.read(file, 1)) == 1
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)


def status_of(pid):
    pairs = (line.split(":", 1) for line in text(f"/proc/{pid}/status").splitlines())
    return {name: value.strip() for name, value in pairs}


def links(folder):
    return {name: tried(lambda: os.readlink(f"{folder}/{name}")) for name in os.listdir(folder)}


def process(pid):
    place = f"/proc/{pid}"
    entries = sorted(set(os.listdir(place)) - {"task", "net"})
    inner = [name for name in entries if os.path.isdir(f"{place}/{name}") and not os.path.islink(f"{place}/{name}")]
    files = [name for name in entries if name not in inner and not os.path.islink(f"{place}/{name}")]
    thread = f"{place}/task/{pid}"
    return {
        "name": text(f"{place}/comm").strip(),
        "command": text(f"{place}/cmdline"),
        "status": status_of(pid),
        "environment": tried(lambda: text(f"{place}/environ")),
        "descriptors": tried(lambda: links(f"{place}/fd")),
        "lists": [name for name in inner if isinstance(tried(lambda: os.listdir(f"{place}/{name}")), list)],
        "follows": [name for name in ("exe", "cwd", "root", "ns/net") if not tried(lambda: os.readlink(f"{place}/{name}")).startswith("!")],
        "reads": [name for name in files if name != "mem" and opens(f"{place}/{name}", os.O_RDONLY)],
        "writes": [name for name in files if name != "clear_refs" and opens(f"{place}/{name}", os.O_WRONLY)],
        "memory": [way for way, flags in (("read", os.O_RDONLY), ("write", os.O_WRONLY), ("both", os.O_RDWR)) for at in (place, thread)
                   if not isinstance(tried(lambda: os.close(os.open(f"{at}/mem", flags))), str)],
    }


def call(function, *arguments):
    """Returns `done`, or the name of the error."""
    return "done" if function(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def taken(pid):
    """Tries calls that access process `pid`. PTRACE_SEIZE does not stop it; nothing can be read or written at address 8."""
    number = ctypes.c_long
    local = Vector(ctypes.cast(ctypes.create_string_buffer(8), ctypes.c_void_p), 8)
    remote = Vector(8, 8)
    pidfd = os.pidfd_open(pid)
    vectors = (pid, ctypes.byref(local), number(1), ctypes.byref(remote), number(1), number(0))
    result = {
        "ptrace": call(LIBC.ptrace, number(0x4206), number(pid), number(0), number(0)),
        "process_vm_readv": call(LIBC.process_vm_readv, *vectors),
        "process_vm_writev": call(LIBC.process_vm_writev, *vectors),
        "kcmp": call(LIBC.syscall, number(312), number(os.getpid()), number(pid), number(0), number(0), number(0)),
        "prlimit": call(LIBC.prlimit, pid, 7, None, ctypes.create_string_buffer(16)),
        "process_madvise": call(LIBC.syscall, number(440), number(pidfd), ctypes.byref(local), number(1), number(21), number(0)),
    }
    for theirs in range(12):
        result[f"pidfd_getfd {theirs}"] = call(LIBC.syscall, number(438), number(pidfd), number(theirs), number(0))
    os.close(pidfd)
    return result


# System calls that no program on a machine needs, by their numbers on x86-64.
NEEDLESS = {
    "modify_ldt": 154, "pivot_root": 155, "chroot": 161, "acct": 163, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169,
    "iopl": 172, "init_module": 175, "quotactl": 179, "io_setup": 206, "io_destroy": 207, "io_getevents": 208, "io_submit": 209,
    "io_cancel": 210, "remap_file_pages": 216, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
    "vmsplice": 278, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "setns": 308, "finit_module": 313, "bpf": 321, "userfaultfd": 323, "io_pgetevents": 333, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "clone3": 435, "mount_setattr": 442, "quotactl_fd": 443,
    "memfd_secret": 447, "cachestat": 451, "map_shadow_stack": 453, "statmount": 457, "listmount": 458, "lsm_set_self_attr": 460,
    "of a later kernel": 600,
}  # fmt: skip
NETLINK = {"sock_diag": 4, "xfrm": 6, "audit": 9, "netfilter": 12, "uevent": 15, "generic": 16, "crypto": 21}
FAMILIES = {"alg": 38, "bluetooth": 31, "packet": 17, "vsock": 40, "xdp": 44}


def needless():
    """What each of them returns, with arguments that the kernel itself would refuse or that do no harm."""
    number = ctypes.c_long
    results = {}
    if os.uname().machine == "x86_64":
        results = {name: call(LIBC.syscall, number(each), *[number(-1)] * 6) for name, each in NEEDLESS.items()}
    for name, protocol in NETLINK.items():
        results[f"netlink {name}"] = call(LIBC.socket, 16, 3, protocol)
    for name, family in FAMILIES.items():
        results[f"socket {name}"] = call(LIBC.socket, family, 2, 0)
    return results


def kernel_tree(top):
    """Readable and writable entries below /proc or /sys that belong to no process."""
    seen = {"reads": [], "writes": []}
    for folder, folders, files in os.walk(top):
        if folder == "/proc":
            folders[:] = [name for name in folders if not name.isdigit()]
        for name in files:
            path = f"{folder}/{name}"
            if os.path.islink(path) or path == "/proc/kmsg":
                continue
            seen["reads"] += [path] if opens(path, os.O_RDONLY) else []
            seen["writes"] += [path] if os.access(path, os.W_OK) and opens(path, os.O_WRONLY) else []
    return seen


def writable():
    """Paths outside /proc that the user may write to, without paths below one that is already listed."""
    found, until = [], time.monotonic() + WALK_S
    for folder, folders, files in os.walk("/"):
        assert time.monotonic() < until, f"{WALK_S} s were not enough to reach {folder}"
        if folder == "/":
            folders.remove("proc")
        for name in list(folders) + files:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.access(path, os.W_OK):
                found.append(path)
                if name in folders:
                    folders.remove(name)
    return found


def devices():
    found = []
    for folder, _, files in os.walk("/"):
        if re.match("/(proc|usr|workspace|tmp)(/|$)", folder):
            continue
        paths = (os.path.join(folder, name) for name in files)
        found += [path for path in paths if stat.S_IFMT(os.lstat(path).st_mode) in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK)]
    return found


def keys_of_session():
    """The number of the session's keyring, or the error."""
    return call(LIBC.syscall, ctypes.c_long(250), ctypes.c_long(0), ctypes.c_long(-3), ctypes.c_long(0))


def main():
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    seen = {
        "self": os.getpid(),
        "groups": os.getgroups(),
        "processes": {pid: process(pid) for pid in pids},
        "needless": needless(),
        "taken": {pid: taken(pid) for pid in pids if pid != os.getpid()},
        "mounts": text("/proc/self/mountinfo").splitlines(),
        "namespaces": links("/proc/self/ns"),
        "proc": kernel_tree("/proc"),
        "sys": os.path.isdir("/sys") and kernel_tree("/sys"),
        "root": os.listdir("/"),
        "etc": os.listdir("/etc"),
        "devices": devices(),
        "writable": writable(),
        "interfaces": [line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines()[2:]],
        "sockets": {name: text(f"/proc/net/{name}").splitlines()[1:] for name in ("tcp", "udp", "unix")},
        "routes": text("/proc/net/route").splitlines()[1:],
        "queues": {name: text(f"/proc/sysvipc/{name}").splitlines()[1:] for name in ("msg", "sem", "shm")},
        "keyring": keys_of_session(),
        "hostname": os.uname().nodename,
        "session": os.getsid(0),
    }
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump(seen, file)
    print("probed", flush=True)
    signal.pause()


main()
