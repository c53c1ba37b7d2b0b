#include <stdexcept>

#include <sys/stat.h>

#include "machines/remote/ssh_driver.h"
#include "machines/sandbox/sandbox.h"
#include "tests/contract/driver_contract.h"
#include "tests/support/machine_number.h"
#include "tests/support/wait_until.h"

namespace millrace::machines {
namespace {

schemas::Machine machine_of(schemas::MachineDriver driver) {
  schemas::Machine machine;
  machine.id = *base::Uuid::parse("01890000-0000-7000-8000-0000000000ab");
  machine.name = "contract";
  machine.driver = driver;
  machine.number = support::machine_number();
  machine.storage_gib = 1;
  return machine;
}

class SandboxHost final : public DriverHost {
 public:
  SandboxHost() { ::chmod(data_.str().c_str(), 0711); }
  Driver& driver() override { return *sandbox_; }
  schemas::Machine machine() const override { return machine_of(schemas::MachineDriver::kSandbox); }
  std::string folder() const override { return "/workspace"; }
  base::Status open() {
    auto opened = Sandbox::open({.data_dir = data_.str()}, spawner_);
    if (!opened) return opened.error();
    sandbox_ = std::move(*opened);
    return {};
  }

 private:
  support::TempDir data_;
  process::Spawner spawner_{process::Spawner::Options{.own_mounts = true}};
  std::unique_ptr<Sandbox> sandbox_;
};

}  // namespace

DriverHostMade make_sandbox_host() {
  auto host = std::make_unique<SandboxHost>();
  if (auto opened = host->open(); !opened) return {nullptr, opened.error().message};
  return {std::move(host), {}};
}

SshHost::SshHost() {
  auto authority = SshAuthority::open(data_.str());
  if (!authority) throw std::runtime_error(authority.error().message);
  authority_ = *authority;
  const auto machine = machine_of(schemas::MachineDriver::kSsh);
  sshd_ = std::make_unique<support::Sshd>(authority_->user_ca(), schemas::machine_id(machine.id));
  open();
}

base::Result<std::unique_ptr<Driver>> SshHost::open_another() {
  auto driver = SshDriver::open({.data_dir = data_.str()}, spawner_, authority_);
  if (!driver) return std::move(driver.error());
  return *std::move(driver);
}

void SshHost::open() {
  driver_.reset();
  auto driver = open_another();
  if (!driver) throw std::runtime_error(driver.error().message);
  driver_ = std::move(*driver);
}

schemas::Machine SshHost::machine() const {
  schemas::Machine machine = machine_of(schemas::MachineDriver::kSsh);
  machine.settings.ssh = schemas::SshTarget{"127.0.0.1", sshd_->port(), sshd_->user(), sshd_->host_key()};
  return machine;
}

DriverHostMade make_ssh_host() {
  if (const std::string reason = support::Sshd::missing(); !reason.empty()) return {nullptr, reason};
  return {std::make_unique<SshHost>(), {}};
}

CommandRequest order_for(const DriverHost& host, std::vector<std::string> command) {
  CommandRequest request;
  request.machine = host.machine();
  request.execution = "exec-" + base::Uuid::make(base::SystemClock().wall()).str();
  request.command = std::move(command);
  request.cwd = host.folder();
  request.timeout = std::chrono::milliseconds(60'000);
  return request;
}

CommandRequest shell_order(const DriverHost& host, const std::string& script) {
  return order_for(host, {"sh", "-c", script});
}

CommandRan run_order(DriverHost& host, const CommandRequest& request, const CancelToken& stop,
                     std::function<bool()> start_allowed) {
  CommandRan ran;
  const auto output = [&](schemas::OutputStream stream, std::string_view bytes) {
    (stream == schemas::OutputStream::kStdout ? ran.out : ran.err).append(bytes);
  };
  ran.end = host.driver().run(request, stop, {output, std::move(start_allowed)});
  return ran;
}

RunningCommand::RunningCommand(DriverHost& host, CommandRequest request)
    : thread_([this, &host, request = std::move(request)] {
        const auto output = [this](schemas::OutputStream, std::string_view bytes) {
          const std::lock_guard lock(mutex_);
          out_.append(bytes);
          changed_.notify_all();
        };
        end_ = host.driver().run(request, stop, {output, {}});
      }) {}

bool RunningCommand::says(const std::string& text) {
  std::unique_lock lock(mutex_);
  return support::wait_until(changed_, lock, [&] { return out_.find(text) != std::string::npos; });
}

CommandResult RunningCommand::end() {
  thread_.join();
  return std::move(end_);
}

void DriverContract::SetUp() {
  DriverHostMade made = GetParam().make();
  if (!made.host) GTEST_SKIP() << made.reason;
  host_ = std::move(made.host);
  const auto started = host_->driver().start(host_->machine(), {});
  ASSERT_TRUE(started) << started.error().message;
}

CommandRequest DriverContract::order_of(std::vector<std::string> command) const {
  return order_for(*host_, std::move(command));
}

std::string DriverContract::output_of(const std::string& script) {
  const CommandRan ran = run(shell(script));
  EXPECT_EQ(ran.end.how, CommandResult::How::kExited) << ran.end.message;
  EXPECT_EQ(ran.end.exit_code, 0) << ran.err;
  return ran.out;
}

}  // namespace millrace::machines
