#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"

// Commands on the machines of this host, each in a jail of its own (docs/design/engines.md §3,
// docs/design/security.md §6).
namespace millrace::machines {

// The driver `sandbox`: a uid per machine (root), bubblewrap with namespaces of its own, seccomp, rlimits; no
// network unless the machine's settings say so; the machine's disk as /workspace, private /tmp. The first
// process of each jail is `millrace-jail-init`: it says what became of the command over a socket of its own,
// so that neither the exit code nor the output of the command can be taken for a failure of the jail or the
// other way round. The order travels in a sealed file in memory: no argument or variable of it is seen in
// /proc outside of the jail but in the command itself.
//
// A machine's size (vcpu, memory, processes) holds for the sum of what runs on it where the host lets us make
// cgroups (v2, or v1 as root), else for each process by rlimits; which of both,
// its facts say at each start. Its disk is an image of its size, mounted in
// a namespace of this process alone (as root), so that it goes with the process; else a folder that is
// watched, and the command that makes it larger than that is stopped.
class Sandbox final : public Driver {
 public:
  struct Options {
    std::string data_dir;           // the machines' folders: DATA/machines/<id>/
    std::string init_program = {};  // of millrace-jail-init; empty: beside this program
    // Of each jail, beside the machine's memory, which bounds each process of it.
    unsigned processes = 128;                           // and threads
    unsigned machine_processes = 512;                   // of all jails of a machine; with cgroups
    unsigned open_files = 1024;                         // per process
    std::uint64_t file_bytes = std::uint64_t{1} << 30;  // of a file that is written
    std::uint64_t tmp_bytes = std::uint64_t{64} << 20;  // /tmp; /dev/shm as much again
    // What the host offers is used unless it is switched off here (tests of what is left).
    bool use_cgroups = true;
    bool use_images = true;
  };

  // Tries a jail; blocks up to some seconds. Error: it does not work here; the message says why and what to
  // do. `spawner` must outlive every command, and should have mounts of its own (Spawner::Options).
  static base::Result<std::unique_ptr<Sandbox>> open(Options options, process::Spawner& spawner);
  ~Sandbox() override;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  CommandEnd run(const CommandRequest& order, const CancelToken& stop, const CommandHooks& hooks) override;
  base::Result<schemas::MachineFacts> start(const schemas::Machine& machine,
                                            const CancelToken& cancel) override;
  base::Status stop(const schemas::Machine& machine, const CancelToken& cancel) override;
  base::Status destroy(const schemas::Machine& machine, const CancelToken& cancel) override;

  // Starts a program of the host's in a jail of the machine, for machines/sshd/local_sshd: the same limits,
  // disk, first process and lifetime as a command's, uid 1000 inside. The caller owns the child and kills it;
  // it dies with this process. Blocks as `start`, and `told` is as there.
  struct ResidentOrder {
    std::vector<std::string> argv;
    int input = -1, output = -1, errors = -1;  // its descriptors 0, 1 and 2, and all that it is given
    // Programs of the host's that may be executed in this jail and not read: what runs them can be neither
    // traced nor looked into by the others of its uid.
    std::vector<std::string> hidden_programs;
    struct Bind {
      int fd;            // of a file: its bytes
      std::string path;  // where they are seen
    };
    std::vector<Bind> read_only;
  };
  base::Result<process::Spawned> start_resident(const schemas::Machine& machine, const ResidentOrder& order,
                                                const CancelToken& cancel);

  // What limits hold by on this host: MachineFacts::limits, and "image" where disks can be images.
  schemas::MachineFacts host_facts() const;

 private:
  struct Parts;
  explicit Sandbox(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::machines
