#pragma once
#include <cstdint>

// The protocol between the gateway and `millrace-jail-init`, the first process of a command's jail. Both come
// from the same build.
namespace millrace::machines {

// The descriptors that the first process inherits, in addition to 0, 1 and 2, which belong to bubblewrap.
inline constexpr int kJailSocket = 3;     // SEQPACKET; end of file: the gateway is gone
inline constexpr int kJailRequestFd = 4;  // a file that contains a JailRequest
inline constexpr int kJailStdin = 5;      // stdin of the command
inline constexpr int kJailStdout = 6;
inline constexpr int kJailStderr = 7;
inline constexpr int kJailProgram = 8;  // the executable of the first process
inline constexpr int kJailFilter = 9;   // the seccomp filter; bubblewrap closes it
// the lock of the machine's disk image, if it has one; held until the jail ends
inline constexpr int kJailDisk = 10;
inline constexpr int kJailGroups = 11;  // first of the groups to enter, by writing "0"; the others follow

enum class JailMessageType : std::uint32_t {
  // to the gateway
  kReady,       // the jail is ready; the message credentials contain the pid of the sender
  kNotStarted,  // the command was not executed: `step`, and `value` is an errno
  // the command has ended: `value` is its wait status; the jail ends with its last other process, or when it
  // is killed
  kEnded,
  // to the jail
  kGo,         // start the command
  kTerminate,  // send SIGTERM to all processes of the jail
};

enum class JailStep : std::uint32_t { kNone, kGroups, kLimits, kFolder, kExecute };

// What the first process knows of all processes of the command that have been waited for.
struct JailUsage {
  std::uint64_t cpu_ms = 0;  // processor time of all of them
  // a process that its parent left behind was killed by
  bool orphan_xfsz = false;  // SIGXFSZ
  bool orphan_xcpu = false;  // SIGXCPU
};

struct JailMessage {
  JailMessageType type = JailMessageType::kReady;
  JailStep step = JailStep::kNone;
  std::int32_t value = 0;
  JailUsage usage = {};  // of kEnded
};

// Limits of the jail's processes.
struct JailInitLimits {
  std::uint64_t memory_bytes = 0;  // RLIMIT_DATA of each process
  std::uint64_t file_bytes = 0;    // RLIMIT_FSIZE
  std::uint64_t cpu_seconds = 0;   // RLIMIT_CPU of each process
  std::uint32_t open_files = 0;
  std::uint32_t processes = 0;  // of the whole jail
  std::uint32_t groups = 0;     // number of groups to enter before the other limits are set
};

// Starts a program of the host instead of a command (Sandbox::start_resident). The arguments of the first
// process are this word, the JailInitLimits as decimal numbers, and the arguments of the program. The program
// gets descriptors 0, 1 and 2. Of the descriptors above, the first process finds kJailProgram, kJailFilter,
// kJailDisk and kJailGroups.
inline constexpr const char* kJailResident = "resident";

// Used outside, before the jail exists. The arguments are this word, the uid that bubblewrap is to run as
// (our own, unless we are root), and the arguments of bubblewrap. It does the work of setpriv, but starts in
// a third of the time.
inline constexpr const char* kJailUser = "user";

// The header of the request file. It is followed by texts, each ended by a NUL byte: the folder, the
// arguments, and the variables (NAME=value), which include PATH.
struct JailRequest {
  JailInitLimits limits;
  std::uint32_t arguments = 0;  // at least 1
  std::uint32_t variables = 0;
};

}  // namespace millrace::machines
