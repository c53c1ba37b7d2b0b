#include "machines/sandbox_command.h"

#include <algorithm>

#include <unistd.h>

#include "machines/jail_protocol.h"
#include "platform/process/jail_words.h"
#include "schemas/machine.h"

namespace millrace::machines {
namespace {

constexpr uid_t kFirstUid = 210'000;
constexpr std::int64_t kNumberMax = 1'000'000'000;

void set(schemas::Environment& variables, const std::string& name, const std::string& value) {
  const auto same = [&](const auto& variable) { return variable.first == name; };
  const auto found = std::find_if(variables.begin(), variables.end(), same);
  if (found == variables.end()) {
    variables.emplace_back(name, value);
  } else {
    found->second = value;
  }
}

schemas::Environment variables_of(const CommandOrder& order) {
  schemas::Environment variables{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                 {"HOME", "/workspace"},
                                 {"MILLRACE_MACHINE_ID", schemas::machine_id(order.machine)}};
  for (const auto& [name, value] : order.environment) set(variables, name, value);
  return variables;
}

void append_text(std::string& bytes, const std::string& text) { bytes.append(text).push_back('\0'); }

}  // namespace

base::Result<uid_t> machine_uid(std::int64_t number) {
  if (number < 0 || number > kNumberMax) {
    return base::error(base::Code::kHostAgentFailed, "the machine has no uid on this host");
  }
  return ::geteuid() == 0 ? kFirstUid + static_cast<uid_t>(number) : ::geteuid();
}

std::string jail_order(const CommandOrder& order, const Sandbox::Options& limits) {
  const schemas::Environment variables = variables_of(order);
  JailOrder head;
  head.memory_bytes = static_cast<std::uint64_t>(std::max(order.memory_mib, 1)) << 20;
  head.file_bytes = limits.file_bytes;
  head.open_files = limits.open_files;
  head.processes = limits.processes;
  head.words = static_cast<std::uint32_t>(order.command.size());
  head.variables = static_cast<std::uint32_t>(variables.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  append_text(bytes, order.cwd.empty() ? "/workspace" : order.cwd);
  for (const std::string& word : order.command) append_text(bytes, word);
  for (const auto& [name, value] : variables) append_text(bytes, std::string(name).append("=").append(value));
  return bytes;
}

process::Command jail_command(const JailParts& parts, const JailEnds& ends, uid_t uid,
                              const std::string& workspace) {
  process::Words words = process::setpriv_words(uid);
  words.emplace_back("--");
  process::append(words, process::namespace_words("machine", parts.limits.tmp_bytes));
  process::append(words, {"--size", std::to_string(parts.limits.tmp_bytes), "--tmpfs", "/dev/shm"});
  process::append(words, {"--bind", workspace, "/workspace", "--remount-ro", "/dev", "--remount-ro", "/"});
  process::append(words, {"--clearenv", "--as-pid-1", "--add-seccomp-fd", std::to_string(kJailFilter), "--",
                          "/proc/self/fd/" + std::to_string(kJailProgram)});
  process::Command command;
  command.argv = std::move(words);
  command.fds = {{2, ends.setup_errors.get()},        {kJailSocket, ends.socket.get()},
                 {kJailOrder, ends.order.get()},      {kJailStdin, ends.input.get()},
                 {kJailStdout, ends.output.get()},    {kJailStderr, ends.errors.get()},
                 {kJailProgram, parts.program.get()}, {kJailFilter, ends.filter.get()}};
  return command;
}

}  // namespace millrace::machines
