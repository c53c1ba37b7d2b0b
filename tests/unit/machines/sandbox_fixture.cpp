#include "tests/unit/machines/sandbox_fixture.h"

#include <sys/stat.h>

#include "schemas/machines/machine.h"
#include "tests/support/machine_number.h"

namespace millrace::machines {

void SandboxTest::SetUp() {
  ::chmod(data_.str().c_str(), 0711);
  auto opened = Sandbox::open(options(), spawner_);
  if (!opened) GTEST_SKIP() << opened.error().message;
  sandbox_ = std::move(*opened);
  root_ = *spawner_.root();
}

Sandbox::Options SandboxTest::options() const {
  Sandbox::Options options;
  options.data_dir = data_.str();
  return options;
}

Sandbox::Options PlainSandboxTest::options() const {
  Sandbox::Options options = SandboxTest::options();
  options.use_cgroups = false;
  options.use_images = false;
  return options;
}

CommandRequest SandboxTest::order_of(std::vector<std::string> command) const {
  CommandRequest order;
  order.machine.id = machine_;
  order.machine.number = support::machine_number();
  order.machine.storage_gib = 1;
  order.execution = "exec-01890000-0000-7000-8000-" + std::to_string(100'000'000'000 + ++orders_);
  order.command = std::move(command);
  order.timeout = std::chrono::milliseconds(60'000);
  return order;
}

Ran SandboxTest::run(const CommandRequest& order, const CancelToken& stop) {
  Ran ran;
  CommandHooks hooks;
  hooks.output = [&](schemas::OutputStream stream, std::string_view bytes) {
    (stream == schemas::OutputStream::kStdout ? ran.out : ran.err).append(bytes);
  };
  ran.end = sandbox_->run(order, stop, hooks);
  return ran;
}

std::string SandboxTest::output_of(const std::string& script) {
  const Ran ran = run(shell(script));
  EXPECT_EQ(ran.end.how, CommandResult::How::kExited) << ran.end.message;
  EXPECT_EQ(ran.end.exit_code, 0) << ran.err;
  return ran.out;
}

std::string SandboxTest::machine_folder() const {
  const std::string own = data_.str() + "/machines/" + schemas::machine_id(machine_);
  const bool image = sandbox_->host_facts().disk == "image";
  return "/proc/self/fd/" + std::to_string(root_.get()) + own + (image ? "/disk" : "");
}

}  // namespace millrace::machines
