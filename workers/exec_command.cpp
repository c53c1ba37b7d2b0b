#include "workers/exec_command.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <pthread.h>

#include "workers/guarded.h"

namespace millrace::workers {

void ExecSlots::enter() {
  const std::lock_guard lock(mutex_);
  ++taken_;
}

void ExecSlots::leave() {
  const std::lock_guard lock(mutex_);
  --taken_;
  changed_.notify_all();
}

void ExecSlots::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return taken_ == 0; });
}

ExecCommand::ExecCommand(std::shared_ptr<ExecShop> shop, machines::CommandOrder order, Hooks hooks)
    : shop_(std::move(shop)),
      order_(std::move(order)),
      hooks_(std::move(hooks)),
      output_({.kept_max = shop_->options.output_max,
               .patience = std::chrono::steady_clock::now() + order_.timeout},
              hooks_.output) {
  if (stop_.fd() < 0) throw std::system_error(EMFILE, std::generic_category(), "a command's stop switch");
  shop_->slots.enter();
  try {
    thread_ = std::jthread([this] { run(); });
  } catch (...) {
    shop_->slots.leave();
    throw;
  }
}

ExecCommand::~ExecCommand() { kill(); }

void ExecCommand::stop() {
  stop_.stop();
  output_.release();
}

void ExecCommand::kill() {
  stop_.kill();
  output_.abandon();
}

void ExecCommand::run() {
  pthread_setname_np(pthread_self(), "exec");
  const std::shared_ptr<ExecShop> shop = shop_;
  hooks_.ended(run_to_end());
  shop->slots.leave();
}

machines::CommandEnd ExecCommand::run_to_end() {
  auto end = guarded("command", [&]() -> base::Result<machines::CommandEnd> {
    return shop_->run(order_, stop_, [this](schemas::OutputStream stream, std::string_view bytes) {
      output_.add(stream, bytes);
    });
  });
  if (end) return std::move(*end);
  return {.how = machines::CommandEnd::How::kHostFailed, .message = end.error().message};
}

}  // namespace millrace::workers
