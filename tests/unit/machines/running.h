#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/wait_until.h"
#include "tests/unit/machines/sandbox_fixture.h"

namespace millrace::machines {

// A command that runs on a separate thread. A test can wait for its output.
class Running {
 public:
  Running(Sandbox& sandbox, CommandRequest order)
      : thread_([this, &sandbox, order = std::move(order)] {
          CommandHooks hooks;
          hooks.output = [this](schemas::OutputStream, std::string_view bytes) {
            const std::lock_guard lock(mutex_);
            out_.append(bytes);
            changed_.notify_all();
          };
          CommandResult end = sandbox.run(order, stop, hooks);
          const std::lock_guard lock(mutex_);
          end_ = std::move(end);
          changed_.notify_all();
        }) {}

  bool says(const std::string& text) {
    std::unique_lock lock(mutex_);
    return support::wait_until(changed_, lock, [&] { return out_.find(text) != std::string::npos; });
  }
  CommandResult end() {
    thread_.join();
    return std::move(*end_);
  }

  CancelToken stop;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_;
  std::optional<CommandResult> end_;
  std::jthread thread_;
};

}  // namespace millrace::machines
