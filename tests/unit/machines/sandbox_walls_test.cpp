#include <gtest/gtest.h>

#include "tests/unit/machines/sandbox_fixture.h"

// What a command tries against the host, and what becomes of it.
namespace millrace::machines {
namespace {

using How = CommandEnd::How;

TEST_F(SandboxTest, NothingRunsAsRootAndNoPrivilegeIsGained) {
  EXPECT_EQ(told("id -u; grep -h -e NoNewPrivs -e CapEff -e CapBnd -e Seccomp: /proc/self/status"),
            "65534\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
}

TEST_F(SandboxTest, TheHostsFilesAreNotThere) {
  EXPECT_EQ(told("ls -d /root /home /var/lib /etc/passwd /etc/shadow /work /sys " + data_.str() +
                 " 2>/dev/null || true"),
            "");
}

TEST_F(SandboxTest, OnlyWhatIsTheMachinesIsWritable) {
  EXPECT_EQ(told("for d in / /usr /dev /etc /proc /proc/sys/kernel /tmp /dev/shm /workspace; do\n"
                 "(touch $d/x) 2>/dev/null && echo $d; done; true"),
            "/tmp\n/dev/shm\n/workspace\n");
}

TEST_F(SandboxTest, TheKernelsSettingsAreNotWritable) {
  EXPECT_EQ(told("for f in kernel/core_pattern kernel/hostname vm/drop_caches; do\n"
                 "(cat /proc/sys/$f > /proc/sys/$f) 2>/dev/null && echo wrote $f; done; true"),
            "");
}

TEST_F(SandboxTest, NothingIsMountedAndNoNamespaceMade) {
  EXPECT_EQ(
      told("mount -t tmpfs none /tmp 2>/dev/null && echo mounted; umount /tmp 2>/dev/null && echo gone\n"
           "unshare --user true 2>/dev/null && echo new; unshare --net true 2>/dev/null && echo new; true"),
      "");
}

TEST_F(SandboxTest, ThereIsNoNetwork) {
  EXPECT_EQ(told("python3 - <<'E'\n"
                 "import socket\n"
                 "for host in '127.0.0.1', '169.254.169.254', '::1':\n"
                 "  try: socket.create_connection((host, 80), 2); print('open', host)\n"
                 "  except OSError: pass\n"
                 "print(open('/proc/net/dev').read().count(':'))\nE\n"),
            "1\n");
}

TEST_F(SandboxTest, SocketsThatReachPastTheNetworkAreRefused) {
  EXPECT_EQ(told("python3 - <<'E'\n"
                 "import errno, socket\n"
                 "for family in 40, 38, 17:\n"
                 "  try: socket.socket(family, socket.SOCK_DGRAM); print('made', family)\n"
                 "  except OSError as e: print(errno.errorcode[e.errno])\n"
                 "socket.socket(socket.AF_UNIX); socket.socketpair(); socket.socket(socket.AF_INET6)\nE\n"),
            "EAFNOSUPPORT\nEAFNOSUPPORT\nEAFNOSUPPORT\n");
}

TEST_F(SandboxTest, NoProcessIsTracedOrRead) {
  EXPECT_EQ(told("python3 - <<'E'\n"
                 "import ctypes, os\n"
                 "libc = ctypes.CDLL(None, use_errno=True)\n"
                 "print(libc.ptrace(0, 0, 0, 0), ctypes.get_errno())\n"
                 "print(libc.ptrace(16, os.getppid(), 0, 0), ctypes.get_errno())\n"
                 "for name in 'mem', 'environ', 'fd/3', 'maps':\n"
                 "  try: open('/proc/1/' + name, 'rb').read(1); print('read', name)\n"
                 "  except OSError: pass\nE\n"),
            "-1 1\n-1 1\n");
}

TEST_F(SandboxTest, OtherProcessesOfTheHostAreNotSeen) {
  EXPECT_EQ(told("ls /proc | grep -c '^[0-9]'"), "4\n") << "the first, the shell, ls, grep";
}

TEST_F(SandboxTest, NoDescriptorOfTheGatewayIsHandedOn) {
  EXPECT_EQ(run(order_of({"ls", "/proc/self/fd"})).out, "0\n1\n2\n3\n") << "3 is the folder that ls reads";
}

TEST_F(SandboxTest, AForkBombEnds) {
  CommandOrder order = shell("bomb() { bomb | bomb & }; bomb; exec sleep 600");
  order.timeout = std::chrono::milliseconds(1'500);
  EXPECT_EQ(run(order).end.how, How::kTimedOut);
  EXPECT_EQ(told("echo well"), "well\n");
}

TEST_F(SandboxTest, ProcessesAreBounded) {
  EXPECT_EQ(told("python3 - <<'E'\n"
                 "import os, signal\n"
                 "n = 0\n"
                 "try:\n"
                 "  while n < 1000:\n"
                 "    if os.fork() == 0: signal.pause()\n"
                 "    n += 1\n"
                 "except BlockingIOError: pass\n"
                 "print(n < 128)\nE\n"),
            "True\n");
}

TEST_F(SandboxTest, AMemoryHogFailsByItself) {
  CommandOrder order = order_of({"python3", "-c", "b = bytearray(1 << 30)"});
  order.memory_mib = 256;
  const Ran ran = run(order);
  EXPECT_EQ(ran.end.exit_code, 1);
  EXPECT_NE(ran.err.find("MemoryError"), std::string::npos) << ran.err;
}

TEST_F(SandboxTest, FilesAndDescriptorsAreBounded) {
  EXPECT_EQ(told("ulimit -n; ulimit -c; prlimit --noheadings --raw --output SOFT --fsize;\n"
                 "df --output=size -B1 /tmp | tail -1 | tr -d ' '"),
            "1024\n0\n1073741824\n67108864\n");
}

TEST_F(SandboxTest, ALibraryThatTheCommandBringsDoesNotReachTheHost) {
  CommandOrder order = order_of({"true"});
  order.environment = {{"LD_PRELOAD", "/workspace/none.so"}, {"LD_AUDIT", "/workspace/none.so"}};
  const Ran ran = run(order);
  EXPECT_EQ(ran.end.how, How::kExited) << ran.end.message;
}

TEST_F(SandboxTest, OrdinaryProgramsWork) {
  EXPECT_EQ(told("python3 - <<'E'\n"
                 "import multiprocessing, subprocess, tempfile, threading\n"
                 "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n"
                 "print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())\n"
                 "lock = multiprocessing.Lock(); queue = multiprocessing.Queue()\n"
                 "p = multiprocessing.Process(target=queue.put, args=('process',)); p.start()\n"
                 "print(queue.get()); p.join()\n"
                 "tempfile.TemporaryFile().write(b'x')\nE\n"
                 "perl -e 'print \"perl\\n\"'; tar cf - /workspace 2>/dev/null | wc -c | grep -c ."),
            "thread\nchild\nprocess\nperl\n1\n");
}

}  // namespace
}  // namespace millrace::machines
