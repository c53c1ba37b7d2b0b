#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"

// Runs commands on the machines of this host, each in a separate jail (docs/design/engines.md §3,
// docs/design/security.md §6).
namespace millrace::machines {

// The driver `sandbox`. A jail consists of a uid per machine (if we are root), separate bubblewrap
// namespaces, seccomp and rlimits. It has no network unless the machine's settings allow it. The machine's
// disk is mounted as /workspace; /tmp is private.
//
// The first process of each jail is `millrace-jail-init`. It reports how the command ended over a dedicated
// socket. So the exit code and output of a command cannot be mistaken for a failure of the jail, nor the
// reverse. The request is passed in a sealed memory file, so its arguments and variables appear in /proc only
// for the command itself, inside the jail.
//
// The size of a machine (vcpu, memory, processes) limits the sum of its processes if the host lets us create
// cgroups (v2, or v1 as root). Otherwise rlimits bound each process separately. The facts of the machine,
// which each start returns, name the mechanism in use.
//
// If we are root and the host supports it, the disk is an image of the machine's size, mounted in a mount
// namespace of this process only. The mount disappears when the process ends. Otherwise the disk is a folder
// whose size is monitored, and commands that fill it beyond its limit are stopped.
class Sandbox final : public Driver {
 public:
  struct Options {
    std::string data_dir;           // contains the machines' folders: DATA/machines/<id>/
    std::string init_program = {};  // path of millrace-jail-init; empty: the folder of this program
    // Limits of each jail, in addition to the machine's memory limit, which bounds each of its processes.
    unsigned processes = 128;                           // without cgroups; threads count as processes
    unsigned machine_processes = 512;                   // of all jails of a machine together; needs cgroups
    unsigned open_files = 1024;                         // per process
    std::uint64_t file_bytes = std::uint64_t{1} << 30;  // largest file that a process may write
    std::uint64_t tmp_bytes = std::uint64_t{64} << 20;  // size of /tmp, and also of /dev/shm
    // Features that are used if the host supports them. Tests switch them off to cover hosts without them.
    bool use_cgroups = true;
    bool use_images = true;
    // Called when the image of a machine is mounted first, when it turns out to be read-only because the
    // host's disk failed or was full, and when it is whole again. On the thread of a command; it must not
    // block.
    std::function<void(const base::Uuid& machine, bool is_writable)> on_disk = {};
  };

  // Starts a trial jail; blocks for up to some seconds. Error: jails do not work on this host; the message
  // says why and what to do. `spawner` must outlive every command and should have its own mount namespace
  // (Spawner::Options).
  static base::Result<std::unique_ptr<Sandbox>> open(Options options, process::Spawner& spawner);
  ~Sandbox() override;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  CommandResult run(const CommandRequest& request, const CancelToken& stop,
                    const CommandHooks& hooks) override;
  base::Result<schemas::MachineFacts> start(const schemas::Machine& machine,
                                            const CancelToken& cancel) override;
  base::Status stop(const schemas::Machine& machine, const CancelToken& cancel) override;
  base::Status destroy(const schemas::Machine& machine, const CancelToken& cancel) override;

  // Starts a program of the host in a jail of the machine, for machines/sshd/local_sshd. Limits, disk, first
  // process and lifetime are the same as for a command. Inside the jail it runs as uid 1000. The caller owns
  // the child and must kill it; it also dies with this process. Blocks like `start`, and `cancel` works as it
  // does there.
  struct ResidentRequest {
    std::vector<std::string> argv;
    int input = -1, output = -1, errors = -1;  // become descriptors 0, 1 and 2; the program gets no others
    // Programs of the host that this jail may execute but not read. A process that runs one of them cannot be
    // traced or inspected by other processes of its uid.
    std::vector<std::string> hidden_programs;
    struct Bind {
      int fd;            // the file to mount
      std::string path;  // where it is mounted
    };
    std::vector<Bind> read_only;
  };
  base::Result<process::Spawned> start_resident(const schemas::Machine& machine,
                                                const ResidentRequest& request, const CancelToken& cancel);

  // The mechanism that enforces limits on this host (MachineFacts::limits), and "image" if disks can be
  // images.
  schemas::MachineFacts host_facts() const;

 private:
  struct Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::machines
