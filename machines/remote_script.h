#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "machines/driver.h"

// What driver ssh runs on a machine's host: small Perl programs. A shell can neither tell a signal from an
// exit code nor why a command was not executed, and starts it with signals that are ignored.
//
// Each is started by a command line that holds no value: it says that it is ready, then reads its own text
// and its order from stdin, byte by byte no further than they go. What it says stands on stderr as lines that
// begin with a random token; they may stand anywhere in what the command writes.
//
// The command is started by a process that is the subreaper of all that comes from it, with a group of its
// own and $MILLRACE_EXECUTION_ID. When it ends, or when nobody reads its stderr any more (the connection is
// gone), all that has come from it, or has that variable, is killed.
namespace millrace::machines {

std::string make_remote_token();  // 32 hex digits

enum class RemoteTask : std::uint8_t { kRun, kSweep };

// The command line for the login shell of the machine's host, whichever that is.
std::string remote_command(RemoteTask task, const std::string& token);

// What a kRun reads. The command's own stdin follows.
std::string remote_run_input(const CommandOrder& order);

// What came from one kRun.
struct RemoteTree {
  std::string execution;
  std::string token;        // of its kRun
  std::int64_t runner = 0;  // as it told; 0: not known
};
// What a kSweep reads. SIGTERM is sent once, with a SIGCONT; SIGKILL until nothing is left.
std::string remote_sweep_input(const RemoteTree& tree, int signal);

// A line that was said.
struct RemoteWord {
  enum class What : std::uint8_t {
    kReady,   // to read its text and its order: nothing has run
    kBegan,   // the command runs: `runner`
    kEnded,   // `end`: kExited, kSignalled, kPrepareFailed
    kBroken,  // `end`: kHostFailed, its message is for the log
  };
  What what = What::kBroken;
  std::int64_t runner = 0;
  CommandEnd end;
};
RemoteWord remote_word_from(std::string_view line);

// Takes what was said out of the stderr of a kRun. What was read before it was ready is not the command's.
class RemoteErrors {
 public:
  explicit RemoteErrors(std::string token) : token_(std::move(token)) {}

  struct Piece {
    bool word = false;      // `text` is a line without its token; else the command's bytes
    std::string_view text;  // valid until the next call of this object
  };
  void add(std::string_view bytes);
  std::optional<Piece> next();  // nullopt: more must be read
  std::string_view rest();      // at the end: what looked like the beginning of a token

 private:
  std::string token_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of `bytes_`
};

// Drops what a login shell wrote to stdout before the token, then passes everything on.
class RemoteOutput {
 public:
  explicit RemoteOutput(std::string token) : token_(std::move(token)) {}
  std::string_view passed(std::string_view bytes);  // the part of `bytes` that is the command's

 private:
  std::string token_;
  std::string tail_;
  bool ready_ = false;
};

}  // namespace millrace::machines
