#include "machines/running_commands.h"

#include <algorithm>
#include <csignal>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::machines {
namespace {

bool has_ended(int pidfd, std::chrono::milliseconds limit) {
  pollfd fd{pidfd, POLLIN, 0};
  return ::poll(&fd, 1, static_cast<int>(std::max<std::chrono::milliseconds::rep>(limit.count(), 0))) > 0;
}

void drop_ended(std::vector<base::Fd>& residents) {
  std::erase_if(residents, [](const base::Fd& each) { return has_ended(each.get(), {}); });
}

}  // namespace

std::unique_ptr<RunningCommand> RunningCommands::begin(const base::Uuid& machine,
                                                       std::function<void()> on_end) {
  std::unique_ptr<RunningCommand> command(new RunningCommand(*this, machine, std::move(on_end)));
  const std::lock_guard lock(mutex_);
  machines_[machine].commands.push_back(command.get());
  return command;
}

void RunningCommands::add_resident(const base::Uuid& machine, base::Fd pidfd) {
  const std::lock_guard lock(mutex_);
  auto& residents = machines_[machine].residents;
  drop_ended(residents);
  residents.push_back(std::move(pidfd));
}

void RunningCommands::end(const base::Uuid& machine, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return;
  for (RunningCommand* command : found->second.commands) {
    if (command->reason_.empty()) command->reason_ = reason;
    command->end_.kill();
    if (command->on_end_) command->on_end_();
  }
  for (const base::Fd& each : found->second.residents) {
    ::syscall(SYS_pidfd_send_signal, each.get(), SIGKILL, nullptr, 0);
  }
}

bool RunningCommands::ended(const base::Uuid& machine, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::unique_lock lock(mutex_);
  const auto none = [&] {
    const auto found = machines_.find(machine);
    return found == machines_.end() || found->second.commands.empty();
  };
  if (!changed_.wait_until(lock, deadline, none)) return false;
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return true;
  auto residents = std::move(found->second.residents);
  lock.unlock();
  const auto left = [&] {
    return std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  };
  const bool all = std::all_of(residents.begin(), residents.end(),
                               [&](const base::Fd& each) { return has_ended(each.get(), left()); });
  for (base::Fd& each : residents) {
    if (!all) add_resident(machine, std::move(each));
  }
  return all;
}

bool RunningCommands::any(const base::Uuid& machine) {
  const std::lock_guard lock(mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return false;
  drop_ended(found->second.residents);
  return !found->second.commands.empty() || !found->second.residents.empty();
}

void RunningCommands::forget(RunningCommand* command) {
  const std::lock_guard lock(mutex_);
  const auto found = machines_.find(command->machine_);
  found->second.commands.remove(command);
  if (found->second.commands.empty() && found->second.residents.empty()) machines_.erase(found);
  changed_.notify_all();
}

std::string RunningCommand::end_reason() const {
  const std::lock_guard lock(registry_.mutex_);
  return reason_;
}

}  // namespace millrace::machines
