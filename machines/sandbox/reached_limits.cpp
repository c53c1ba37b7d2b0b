#include "machines/sandbox/reached_limits.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

namespace millrace::machines {
namespace {

using base::Code;
using How = CommandResult::How;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

base::Error out_of_memory(const schemas::Machine& machine, std::uint64_t peak_bytes) {
  const std::string allowed = std::to_string(machine.memory_mib);
  const auto peak_mib =
      std::min((peak_bytes + kMib - 1) / kMib, static_cast<std::uint64_t>(machine.memory_mib));
  const std::string used = peak_bytes == 0 ? "all" : std::to_string(peak_mib);
  return base::error(Code::kOutOfMemory, "the machine ran out of memory: its commands used " + used + " of " +
                                             allowed + " MiB (memory_mib), and the kernel killed a process");
}

base::Error out_of_disk(const schemas::Machine& machine) {
  return base::error(Code::kOutOfDisk, "the machine's disk is full: storage_gib (" +
                                           std::to_string(machine.storage_gib) + ") is used up");
}

base::Error file_too_large(std::uint64_t bytes_max) {
  return base::error(Code::kOutOfDisk, "a command may write files of at most " +
                                           std::to_string(bytes_max / kMib) +
                                           " MiB, and a file reached this size");
}

base::Error out_of_processor_time(std::uint64_t seconds_max) {
  return base::error(Code::kCpuTimeExceeded,
                     "a process used up its processor time, which is at most " + std::to_string(seconds_max) +
                         " s: timeout_ms times the host's processors, plus a reserve");
}

base::Error out_of_processes(std::uint64_t processes_max) {
  return base::error(Code::kProcessLimit,
                     "the machine reached its limit of " + std::to_string(processes_max) +
                         " processes and threads, and the kernel refused to start another one");
}

// The group may have been made again meanwhile.
bool grew(std::uint64_t before, std::uint64_t after) { return after > before; }

constexpr int kShellSignal = 128;  // a shell's exit code is this plus the signal that killed its last child
// The smallest limit of processor time is one second; the kernel counts it in ticks.
constexpr std::uint64_t kLeastCpuMs = 900;

bool killed_by(const CommandResult& end, int signal) {
  return end.how == How::kSignalled && end.signal == signal;
}
bool reports(const CommandResult& end, int signal) {
  return end.how == How::kExited && end.exit_code == kShellSignal + signal;
}

bool reached_file_size(const CommandResult& end, const ChildEvidence& children) {
  return killed_by(end, SIGXFSZ) || children.usage.orphan_xfsz ||
         (reports(end, SIGXFSZ) && children.has_full_file);
}

bool reached_processor_time(const CommandResult& end, const ChildEvidence& children) {
  return killed_by(end, SIGXCPU) || children.usage.orphan_xcpu ||
         (reports(end, SIGXCPU) && children.usage.cpu_ms >= kLeastCpuMs);
}

std::optional<base::Error> reached_limit(const CommandResult& end, const schemas::Machine& machine,
                                         const JailInitLimits& limits, const LimitStates& states,
                                         const ChildEvidence& children) {
  const auto& [before, after] = states;
  if (grew(before.counts.memory_kills, after.counts.memory_kills))
    return out_of_memory(machine, after.counts.memory_peak_bytes);
  if (reached_file_size(end, children)) return file_too_large(limits.file_bytes);
  if (reached_processor_time(end, children)) return out_of_processor_time(limits.cpu_seconds);
  if (after.disk_full && !before.disk_full) return out_of_disk(machine);
  if (grew(before.counts.refused_processes, after.counts.refused_processes))
    return out_of_processes(after.counts.processes_max);
  return std::nullopt;
}

bool failed(const CommandResult& end) {
  return end.how == How::kSignalled || (end.how == How::kExited && end.exit_code != 0);
}

CommandResult killed(CommandResult end) {
  end.how = How::kSignalled;
  end.signal = SIGKILL;
  end.message.clear();
  return end;
}

}  // namespace

bool may_have_full_file(const CommandResult& end) { return reports(end, SIGXFSZ); }

CommandResult with_reached_limit(CommandResult end, const schemas::Machine& machine,
                                 const JailInitLimits& limits, bool started, const LimitStates& states,
                                 const ChildEvidence& children) {
  const auto& [before, after] = states;
  if (end.how == How::kHostFailed && grew(before.counts.memory_kills, after.counts.memory_kills))
    end = killed(std::move(end));
  if (end.how == How::kHostFailed && !started &&
      grew(before.counts.refused_processes, after.counts.refused_processes)) {
    end.how = How::kPrepareFailed;
    end.limit = out_of_processes(after.counts.processes_max);
    return end;
  }
  auto limit = reached_limit(end, machine, limits, states, children);
  if (limit && failed(end)) {
    end.limit = std::move(limit);
  } else if (limit && has_run(end)) {
    end.warnings.push_back(std::move(limit->message));
  } else if (after.disk_full && failed(end)) {
    end.warnings.push_back(out_of_disk(machine).message);
  }
  return end;
}

CommandResult killed_for_disk(CommandResult end, const schemas::Machine& machine) {
  if (end.how != How::kHostFailed) return end;
  end = killed(std::move(end));
  end.limit = out_of_disk(machine);
  return end;
}

}  // namespace millrace::machines
