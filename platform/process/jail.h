#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "platform/base/result.h"
#include "platform/process/spawner.h"

namespace millrace::process {

// How far a child can be locked in on this machine.
enum class Confinement {
  kNamespaces,  // bwrap: no network, read-only /usr, private /tmp, own PID and user namespace; seccomp;
                // rlimits
  kFileRules,   // no user namespaces here: Landlock (the system's files to read, nothing to write), another
                // uid (when root), no new privileges, seccomp, rlimits
  kReduced,     // no Landlock either: as root another uid keeps it from our files, else nothing does
};

struct JailLimits {
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // RLIMIT_DATA per process; 0: none
  std::uint64_t file_bytes = std::uint64_t{64} << 20;   // RLIMIT_FSIZE
  std::uint64_t tmp_bytes = std::uint64_t{64} << 20;    // size of the private /tmp
  unsigned open_files = 256;
  unsigned processes = 64;  // counted per jail (user namespace), or per uid where there is none
};

struct JailOptions {
  uid_t uid = 209'999;    // used when the gateway is root: outside the range of host users
  bool unjailed = false;  // ocr.unjailed: an ordinary user's children may run in kReduced
  JailLimits limits;
};

// What `Jail::probe` found. `doctor` prints it; a worker that may not start without a better form names the
// reason and the advice.
struct JailProbe {
  Confinement confinement = Confinement::kReduced;
  bool usable = false;  // false: no form that may be used works; `reason` says why
  std::string reason;   // why no better form is; empty when confinement is kNamespaces
  std::string advice;   // what an operator can do about it
};

// Locks a child in: setpriv (when root), prlimit, bwrap or Landlock, seccomp. bwrap is never started with
// kuid 0: /proc/sys would stay writable from inside. Immutable after construction; thread-safe.
class Jail {
 public:
  // `confinement` is what `probe` reported. kInternal: the seccomp filter could not be built.
  static base::Result<Jail> make(const JailOptions& options, Confinement confinement);

  // Tries each form, best first, with a trial child, and a thread that locks itself in. Blocks up to 15 s.
  static JailProbe probe(Spawner& spawner, const JailOptions& options);

  // The command that runs `inner` locked in. `inner.argv[0]` is opened here and executed by descriptor, so
  // that it may lie where the jailed uid cannot look. Without namespaces nobody but the program itself can
  // take the rules and load the filter: then `--rules-fd N` (kFileRules) and `--seccomp-fd N` are appended to
  // its arguments, and it must call `lock_in` before it touches input. The returned command borrows
  // descriptors of `inner` and of the `Wrapped` itself until it is spawned.
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
