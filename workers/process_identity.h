#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::workers {

// One process, told apart from every other that may get its number: by boot, PID namespace and start time.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t started_ticks = 0;  // /proc/PID/stat, field 22
  std::uint64_t pid_namespace = 0;  // inode
  std::string boot_id;

  // Of a process of this PID namespace.
  static ProcessIdentity of(std::int64_t pid, std::string boot_id);
  // One line of text and back; nullopt: it is not one.
  std::string str() const;
  static std::optional<ProcessIdentity> parse(std::string_view line);
  // SIGKILL, if this very process still runs here; elsewhere, or after a reboot, its own death has done it.
  // True: it was sent.
  bool kill_if_same(const std::string& own_boot_id) const;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

}  // namespace millrace::workers
