#pragma once
#include <cstdint>

// Between the gateway and `millrace-jail-init`, the first process of a command's jail. Both are of one build.
namespace millrace::machines {

// The descriptors that the first process finds open, beside 0, 1 and 2, which are bubblewrap's.
inline constexpr int kJailSocket = 3;  // SEQPACKET; end of file: the gateway is gone
inline constexpr int kJailOrder = 4;   // the file of a JailOrder
inline constexpr int kJailStdin = 5;   // the command's
inline constexpr int kJailStdout = 6;
inline constexpr int kJailStderr = 7;
inline constexpr int kJailProgram = 8;  // the first process's own program
inline constexpr int kJailFilter = 9;   // the seccomp filter; bubblewrap closes it
inline constexpr int kJailDisk = 10;    // the lock of the machine's disk, where it has one: held to the end
inline constexpr int kJailGroups = 11;  // and those that follow: the groups to enter, by writing "0"

enum class JailCommand : std::uint32_t {
  // to the gateway
  kReady,     // the jail is made; the sender's pid is in the message's credentials
  kNotBegun,  // the command was not executed: `step` and `value`, an errno
  kEnded,     // the command has ended: `value` is its wait status. The jail ends now, and all that is in it
  // to the jail
  kGo,         // begin
  kTerminate,  // SIGTERM to all that run in it
};

enum class JailStep : std::uint32_t { kNone, kGroups, kLimits, kFolder, kExecute };

struct JailMessage {
  JailCommand word = JailCommand::kReady;
  JailStep step = JailStep::kNone;
  std::int32_t value = 0;
};

// What bounds the jail's processes.
struct JailLimits {
  std::uint64_t memory_bytes = 0;  // RLIMIT_DATA of each process
  std::uint64_t file_bytes = 0;    // RLIMIT_FSIZE
  std::uint64_t cpu_seconds = 0;   // RLIMIT_CPU of each process
  std::uint32_t open_files = 0;
  std::uint32_t processes = 0;  // of the jail
  std::uint32_t groups = 0;     // to enter before anything else
};

// A program of the host's in the place of a command (Sandbox::start_resident): the words of the first process
// are this one, the JailLimits as decimal numbers, and the program's own. The program gets descriptors 0, 1
// and 2; of those above the first process finds kJailProgram, kJailFilter, kJailDisk and kJailGroups.
inline constexpr const char* kJailResident = "resident";

// Outside, before there is a jail: this word, the uid that bubblewrap is to run as (our own, unless we are
// root), and bubblewrap's words. It does what setpriv would, and starts in a third of the time.
inline constexpr const char* kJailUser = "user";

// The head of the order; then texts, each ended by a NUL: the folder, the words, the variables (NAME=value).
// PATH is among them.
struct JailRequest {
  JailLimits limits;
  std::uint32_t words = 0;  // at least 1
  std::uint32_t variables = 0;
};

}  // namespace millrace::machines
