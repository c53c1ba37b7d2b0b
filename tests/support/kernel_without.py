#!/usr/bin/env python3
"""Runs a command as if the kernel had no user namespaces, or no Landlock either: kernel_without.py namespaces[,landlock] COMMAND…

It uses a seccomp filter that the command and its children inherit, as hosts and containers do that forbid these features."""

import ctypes
import errno
import os
import sys

ALLOW = 0x7FFF0000
MASKED_EQUAL = 7
NEW_USER_NAMESPACE = 0x10000000


class Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def prefix(missing):
    """The prefix of a command that is to run without `missing`."""
    return [sys.executable, __file__, missing]


def deny(library, context, name, code, *arguments):
    number = library.seccomp_syscall_resolve_name(name)
    action = 0x00050000 | code
    failed = library.seccomp_rule_add_array(context, action, number, len(arguments), (Argument * len(arguments))(*arguments))
    assert failed == 0, (name, failed)


def main():
    missing, command = sys.argv[1].split(","), sys.argv[2:]
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Argument)
    ]
    library.seccomp_load.argtypes = [ctypes.c_void_p]
    context = library.seccomp_init(ALLOW)
    if "namespaces" in missing:
        flag = Argument(0, MASKED_EQUAL, NEW_USER_NAMESPACE, NEW_USER_NAMESPACE)
        deny(library, context, b"clone", errno.EPERM, flag)
        deny(library, context, b"unshare", errno.EPERM, flag)
        deny(library, context, b"clone3", errno.ENOSYS)
    if "landlock" in missing:
        for name in (b"landlock_create_ruleset", b"landlock_add_rule", b"landlock_restrict_self"):
            deny(library, context, name, errno.ENOSYS)
    assert library.seccomp_load(context) == 0
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
