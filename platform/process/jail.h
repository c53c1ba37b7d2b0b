#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "platform/base/result.h"
#include "platform/process/spawner.h"

namespace millrace::process {

// How strictly a child can be confined on this machine.
enum class Confinement {
  // bwrap: no network, read-only /usr, private /tmp, separate PID and user namespaces; seccomp; rlimits
  kNamespaces,
  // user namespaces are not available: Landlock (system files readable, nothing writable), another uid (if
  // root), no new privileges, seccomp, rlimits
  kFileRules,
  // Landlock is not available either: if root, a separate uid protects our files; otherwise nothing does
  kReduced,
};

struct JailLimits {
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // RLIMIT_DATA per process; 0: none
  std::uint64_t file_bytes = std::uint64_t{64} << 20;   // RLIMIT_FSIZE
  std::uint64_t tmp_bytes = std::uint64_t{64} << 20;    // size of the private /tmp
  unsigned open_files = 256;
  unsigned processes = 64;  // per jail (user namespace), or per uid without namespaces
};

struct JailOptions {
  uid_t uid = 209'999;    // used when the gateway is root: outside the range of host users
  bool unjailed = false;  // ocr.unjailed: children of an ordinary user may run with kReduced
  JailLimits limits;
  // Files and folders that the child may read in addition to the system's, by their paths. Only for
  // kFileRules: with namespaces, files enter as sealed copies (memory_file.h).
  std::vector<std::string> readable = {};
};

// The result of `Jail::probe`. `doctor` prints it. A worker that must not start without a stricter form
// reports the reason and the advice.
struct JailProbe {
  Confinement confinement = Confinement::kReduced;
  bool usable = false;        // false: no permitted form works; see `reason`
  bool is_transient = false;  // kNamespaces failed for lack of time, memory or processes: it may work later
  std::string reason;         // why no stricter form works; empty if confinement is kNamespaces
  std::string advice;         // what an operator can do about it
};

// Confines a child with setpriv (if root), prlimit, bwrap or Landlock, and seccomp. bwrap is never started
// with kuid 0, because /proc/sys would be writable inside. Immutable after construction; thread-safe.
class Jail {
 public:
  // `confinement` must be the one that `probe` reported. kInternal: the seccomp filter could not be built.
  static base::Result<Jail> make(const JailOptions& options, Confinement confinement);

  // Tries each form, strictest first, with a trial child and with a thread that confines itself. kNamespaces
  // is tried again after a failure that may pass. Blocks for up to 25 s.
  static JailProbe probe(Spawner& spawner, const JailOptions& options);
  // Tries one form. The error says why it failed. kOverloaded: for lack of time, memory or processes. Blocks
  // for up to 5 s.
  static base::Status trial(Spawner& spawner, const JailOptions& options, Confinement form);

  // Returns the command that runs `inner` confined. `inner.argv[0]` is opened here and executed by
  // descriptor, so it may be in a place that the jailed uid cannot read.
  //
  // Without namespaces only the program itself can apply the rules and load the filter. So `--rules-fd N`
  // (kFileRules) and `--seccomp-fd N` are appended to its arguments, and it must call `confine_process`
  // before it reads input. The returned command borrows descriptors of `inner` and of the `Wrapped` until it
  // is spawned.
  struct Wrapped {
    Command command;
    base::Fd program;
    base::Fd filter;
    base::Fd rules;
  };
  base::Result<Wrapped> wrap(const Command& inner) const;

  Confinement confinement() const { return confinement_; }

 private:
  Jail(JailOptions options, Confinement confinement, std::string filter);
  std::vector<std::string> outer_arguments() const;
  std::vector<std::string> namespace_arguments(int filter_fd, const Command& inner) const;

  JailOptions options_;
  Confinement confinement_;
  std::string filter_;  // BPF bytes
};

}  // namespace millrace::process
