#include <algorithm>
#include <filesystem>

#include <arpa/inet.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/machines/running.h"

// Attacks of a command against the host, and their results.
namespace millrace::machines {
namespace {

using How = CommandResult::How;

TEST_F(SandboxTest, NothingRunsAsRootAndNoPrivilegeIsGained) {
  EXPECT_EQ(output_of("id -u; grep -h -e NoNewPrivs -e CapEff -e CapBnd -e Seccomp: /proc/self/status"),
            "1000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
}

TEST_F(SandboxTest, TheHostsFilesAreNotThere) {
  EXPECT_EQ(output_of("ls -d /root /home /var/lib /etc/shadow /etc/hostname /work /sys " + data_.str() +
                      " 2>/dev/null || true"),
            "");
}

TEST_F(SandboxTest, OnlyWhatIsTheMachinesIsWritable) {
  EXPECT_EQ(
      output_of("for d in / /usr /dev /etc /proc /proc/sys/kernel /tmp /dev/shm /workspace /artifacts; do\n"
                "(touch $d/x) 2>/dev/null && echo $d; done; true"),
      "/tmp\n/dev/shm\n/workspace\n/artifacts\n");
}

TEST_F(SandboxTest, TheKernelsSettingsAreNotWritable) {
  EXPECT_EQ(output_of("for f in kernel/core_pattern kernel/hostname vm/drop_caches; do\n"
                      "(cat /proc/sys/$f > /proc/sys/$f) 2>/dev/null && echo wrote $f; done; true"),
            "");
}

TEST_F(SandboxTest, NothingIsMountedAndNoNamespaceMade) {
  EXPECT_EQ(
      output_of(
          "mount -t tmpfs none /tmp 2>/dev/null && echo mounted; umount /tmp 2>/dev/null && echo gone\n"
          "unshare --user true 2>/dev/null && echo new; unshare --net true 2>/dev/null && echo new; true"),
      "");
}

TEST_F(SandboxTest, ThereIsNoNetwork) {
  EXPECT_EQ(output_of("python3 - <<'E'\n"
                      "import socket\n"
                      "for host in '127.0.0.1', '169.254.169.254', '::1':\n"
                      "  try: socket.create_connection((host, 80), 2); print('open', host)\n"
                      "  except OSError: pass\n"
                      "print(open('/proc/net/dev').read().count(':'))\nE\n"),
            "1\n");
}

// A listener on the host's loopback. True once a client has connected.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length);
    ::listen(socket_.get(), 8);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  std::string script() const {
    return "bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port_) +
           "' 2>/dev/null && echo open; true";
  }

 private:
  base::Fd socket_;
  int port_ = 0;
};

TEST_F(SandboxTest, TheHostsNetworkIsReachedOnlyWhereTheSettingsSayIt) {
  const Listener listener;
  CommandRequest order = shell(listener.script());
  EXPECT_EQ(run(order).out, "");
  order.machine.settings.network = true;
  EXPECT_EQ(run(order).out, "open\n");
}

TEST_F(SandboxTest, WithTheNetworkComeNamesAndCertificatesToRead) {
  CommandRequest order = shell(
      "test -d /etc/ssl/certs && echo certificates; grep ^hosts /etc/nsswitch.conf; "
      "(echo x >> /etc/resolv.conf) 2>/dev/null || echo kept; getent hosts machine");
  order.machine.settings.network = true;
  EXPECT_EQ(run(order).out,
            "certificates\nhosts: files dns\nkept\n127.0.1.1       machine.internal machine\n");
}

TEST_F(SandboxTest, SocketsThatReachPastTheNetworkAreRefused) {
  EXPECT_EQ(
      output_of("python3 - <<'E'\n"
                "import errno, socket\n"
                "for family in 40, 38, 17:\n"
                "  try: socket.socket(family, socket.SOCK_DGRAM); print('made', family)\n"
                "  except OSError as e: print(errno.errorcode[e.errno])\n"
                "socket.socket(socket.AF_UNIX); socket.socketpair(); socket.socket(socket.AF_INET6)\nE\n"),
      "EAFNOSUPPORT\nEAFNOSUPPORT\nEAFNOSUPPORT\n");
}

TEST_F(SandboxTest, NoProcessIsTracedOrRead) {
  EXPECT_EQ(output_of("python3 - <<'E'\n"
                      "import ctypes, os\n"
                      "libc = ctypes.CDLL(None, use_errno=True)\n"
                      "print(libc.ptrace(0, 0, 0, 0), ctypes.get_errno())\n"
                      "print(libc.ptrace(16, os.getppid(), 0, 0), ctypes.get_errno())\n"
                      "for name in 'mem', 'environ', 'fd/3', 'maps':\n"
                      "  try: open('/proc/1/' + name, 'rb').read(1); print('read', name)\n"
                      "  except OSError: pass\nE\n"),
            "-1 1\n-1 1\n");
}

TEST_F(SandboxTest, ANeighbourInAnotherJailIsNeitherSeenNorTracedNorKilled) {
  Running neighbour(*sandbox_, shell("mkfifo go; echo up; read line < go"));
  ASSERT_TRUE(neighbour.says("up"));
  EXPECT_EQ(output_of("python3 - <<'E'\n"
                      "import ctypes, os\n"
                      "libc = ctypes.CDLL(None, use_errno=True)\n"
                      "own = {1, os.getpid(), os.getppid()}\n"
                      "seen = {int(p) for p in os.listdir('/proc') if p.isdigit()} - own\n"
                      "print(len(seen))\n"
                      "for pid in range(1, 40000):\n"
                      "  if pid in own: continue\n"
                      "  if libc.ptrace(16, pid, 0, 0) != -1: print('traced', pid)\n"
                      "  try: os.kill(pid, 9); print('killed', pid)\n"
                      "  except ProcessLookupError: pass\nE\n"),
            "0\n");
  output_of("kill -9 -1; true");
  neighbour.stop.kill();
  EXPECT_EQ(neighbour.end().how, How::kStopped) << "it must run until it is stopped";
}

TEST_F(SandboxTest, OtherProcessesOfTheHostAreNotSeen) {
  EXPECT_EQ(output_of("set -- /proc/[0-9]*; echo $#"), "2\n") << "the first process and the shell";
}

TEST_F(SandboxTest, NoDescriptorOfTheGatewayIsHandedOn) {
  EXPECT_EQ(run(order_of({"ls", "/proc/self/fd"})).out, "0\n1\n2\n3\n")
      << "descriptor 3 is the folder that ls reads";
}

TEST_F(SandboxTest, AForkBombEnds) {
  // The waiting shell execs `sleep` instead of forking: at the process limit, a fork would fail and end it.
  CommandRequest order = shell("bomb() { bomb | bomb & }; (bomb) & exec sleep 600");
  order.timeout = std::chrono::milliseconds(1'500);
  EXPECT_EQ(run(order).end.how, How::kTimedOut);
  EXPECT_EQ(output_of("echo well"), "well\n");
}

// How many processes a command can start at once.
constexpr const char* kProcessCount =
    "python3 - <<'E'\n"
    "import os, signal\n"
    "n = 0\n"
    "try:\n"
    "  while n < 1000:\n"
    "    if os.fork() == 0: signal.pause()\n"
    "    n += 1\n"
    "except BlockingIOError: pass\n"
    "print(n)\nE\n";

TEST_F(SandboxTest, ProcessesAreBounded) {
  const bool has_groups = sandbox_->host_facts().limits != "rlimits";
  EXPECT_LT(std::stoi(output_of(kProcessCount)), has_groups ? 512 : 128);
}

TEST_F(PlainSandboxTest, WithoutGroupsTheProcessesOfEachCommandAreBounded) {
  EXPECT_LT(std::stoi(output_of(kProcessCount)), 128);
}

TEST_F(SandboxTest, AMemoryHogFailsByItself) {
  CommandRequest order = order_of({"python3", "-c", "b = bytearray(1 << 30)"});
  order.machine.memory_mib = 256;
  const Ran ran = run(order);
  EXPECT_EQ(ran.end.exit_code, 1);
  EXPECT_NE(ran.err.find("MemoryError"), std::string::npos) << ran.err;
}

TEST_F(SandboxTest, FilesAndDescriptorsAreBounded) {
  EXPECT_EQ(output_of("ulimit -n; ulimit -c; prlimit --noheadings --raw --output SOFT --fsize;\n"
                      "df --output=size -B1 /tmp | tail -1 | tr -d ' '"),
            "1024\n0\n1073741824\n67108864\n");
}

TEST_F(SandboxTest, ALibraryThatTheCommandBringsDoesNotReachTheHost) {
  CommandRequest order = order_of({"true"});
  order.environment = {{"LD_PRELOAD", "/workspace/none.so"}, {"LD_AUDIT", "/workspace/none.so"}};
  const Ran ran = run(order);
  EXPECT_EQ(ran.end.how, How::kExited) << ran.end.message;
}

TEST_F(SandboxTest, OrdinaryProgramsWork) {
  EXPECT_EQ(
      output_of("python3 - <<'E'\n"
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

// Runs a script in the sandbox of an ordinary user's gateway. Empty: no sandbox can be created.
std::string output_for_user(const std::string& data, const std::string& script) {
  process::Spawner spawner(process::Spawner::Options{.own_mounts = true});
  Sandbox::Options options;
  options.data_dir = data;
  auto sandbox = Sandbox::open(options, spawner);
  if (!sandbox) return {};
  CommandRequest order;
  order.execution = "exec-1";
  order.command = {"sh", "-c", script};
  CommandHooks hooks;
  std::string out = (*sandbox)->host_facts().disk + "\n";
  hooks.output = [&](schemas::OutputStream, std::string_view bytes) { out.append(bytes); };
  const CommandResult end = (*sandbox)->run(order, CancelToken(), hooks);
  for (const ArtifactFile& file : end.artifacts) out += file.name + "\n";
  static_cast<void>((*sandbox)->destroy(order.machine, {}));
  return out;
}

TEST(Sandbox, AnOrdinaryUsersGatewayHasTheSameWalls) {
  if (::geteuid() != 0) GTEST_SKIP() << "without root, all other tests already run as an ordinary user";
  constexpr uid_t kUser = 54'321;
  const support::TempDir data;
  ASSERT_EQ(::chown(data.str().c_str(), kUser, kUser), 0);
  auto pipe = base::make_pipe();
  ASSERT_TRUE(pipe);
  const pid_t user = ::fork();
  if (user == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kUser, kUser, kUser) != 0 ||
        ::setresuid(kUser, kUser, kUser) != 0) {
      ::_exit(1);
    }
    const std::string out = output_for_user(
        data.str(),
        "id -u; (cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern) 2>/dev/null && echo "
        "wrote\n"
        "mount -t tmpfs none /tmp 2>/dev/null && echo mounted; kill -9 -1 2>/dev/null; ls /home /root "
        "2>/dev/null\n"
        "mkdir /artifacts/a; echo x > /artifacts/a/x; chmod 000 /artifacts");
    ::_exit(::write(pipe->write.get(), out.data(), out.size()) < 0 ? 1 : 0);
  }
  pipe->write.reset();
  std::string out(65'536, '\0');
  const ssize_t count = ::read(pipe->read.get(), out.data(), out.size());
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  ::waitpid(user, nullptr, 0);
  if (out.empty()) GTEST_SKIP() << "an ordinary user cannot create a sandbox here";
  EXPECT_EQ(out, "watched\n1000\na/x\n");
  EXPECT_TRUE(std::filesystem::is_empty(data.path() / "machines"));
}

}  // namespace
}  // namespace millrace::machines
