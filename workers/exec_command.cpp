#include "workers/exec_command.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <pthread.h>

#include "workers/guarded.h"

namespace millrace::workers {

ExecCommand::ExecCommand(std::shared_ptr<ExecShop> shop, storage::Store& store, machines::CommandOrder order,
                         Hooks hooks)
    : shop_(std::move(shop)),
      store_(store),
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
  auto end = std::make_shared<ExecEnd>();
  end->command = run_to_end();
  end->kept = keep(end->command);
  hooks_.ended(std::move(end));
  shop->slots.leave();
}

machines::CommandEnd ExecCommand::run_to_end() {
  const machines::CommandHooks hooks{
      .output = [this](schemas::OutputStream stream, std::string_view bytes) { output_.add(stream, bytes); },
      .may_go = hooks_.may_go,
      .released = [this] { output_.release(); }};
  auto end = guarded(
      "command", [&]() -> base::Result<machines::CommandEnd> { return shop_->run(order_, stop_, hooks); });
  if (end) return std::move(*end);
  machines::CommandEnd failed;
  failed.how = machines::CommandEnd::How::kHostFailed;
  failed.message = "the host could not run the command";
  failed.detail = end.error().message;
  return failed;
}

KeptArtifacts ExecCommand::keep(machines::CommandEnd& end) {
  auto kept = guarded("artifacts",
                      [&]() -> base::Result<KeptArtifacts> { return keep_artifacts(store_, end, stop_); });
  if (kept) return *std::move(kept);
  return {.files = {}, .note = "the files that it left could not be kept"};
}

}  // namespace millrace::workers
