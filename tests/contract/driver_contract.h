#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "machines/driver.h"
#include "machines/keys/ssh_authority.h"
#include "platform/process/spawner.h"
#include "tests/support/sshd.h"
#include "tests/support/temp_dir.h"

// Contract of Driver. To test another implementation, add a line at the end of driver_contract.cpp.
namespace millrace::machines {

// A driver, a machine of it, and the host that both need.
class DriverHost {
 public:
  virtual ~DriverHost() = default;
  virtual Driver& driver() = 0;
  virtual schemas::Machine machine() const = 0;
  virtual std::string folder() const = 0;  // of the machine; initially empty
};
// `host` is null if this host does not support the driver; the reason is set.
struct DriverHostMade {
  std::unique_ptr<DriverHost> host;
  std::string reason;
};
DriverHostMade make_sandbox_host();
DriverHostMade make_ssh_host();

// A separate sshd and the driver that uses it.
class SshHost final : public DriverHost {
 public:
  SshHost();
  Driver& driver() override { return *driver_; }
  schemas::Machine machine() const override;
  std::string folder() const override { return files_.str(); }

  support::Sshd& sshd() { return *sshd_; }
  const SshAuthority& authority() const { return *authority_; }
  std::string data_dir() const { return data_.str(); }
  void open();  // reopens the driver
  // Opens a second driver on the same data directory, as another worker does.
  base::Result<std::unique_ptr<Driver>> open_another();

 private:
  support::TempDir data_, files_;
  process::Spawner spawner_;
  std::shared_ptr<const SshAuthority> authority_;
  std::unique_ptr<support::Sshd> sshd_;
  std::unique_ptr<Driver> driver_;
};

// How a command ended, and its complete output.
struct CommandRan {
  CommandResult end;
  std::string out, err;
};

CommandRequest order_for(const DriverHost& host, std::vector<std::string> command);
CommandRequest shell_order(const DriverHost& host, const std::string& script);
CommandRan run_order(DriverHost& host, const CommandRequest& request, const CancelToken& stop = {},
                     std::function<bool()> start_allowed = {});

// A command that runs on a separate thread. A test can wait for its output.
class RunningCommand {
 public:
  RunningCommand(DriverHost& host, CommandRequest request);
  bool says(const std::string& text);
  CommandResult end();

  CancelToken stop;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_;
  CommandResult end_;
  std::jthread thread_;
};

struct DriverImplementation {
  const char* name;
  DriverHostMade (*make)();
};

class DriverContract : public testing::TestWithParam<DriverImplementation> {
 protected:
  void SetUp() override;
  CommandRequest order_of(std::vector<std::string> command) const;
  CommandRequest shell(const std::string& script) const { return shell_order(*host_, script); }
  CommandRan run(const CommandRequest& request, const CancelToken& stop = {}) {
    return run_order(*host_, request, stop);
  }
  // Runs a script that must exit with code 0. Returns its output.
  std::string output_of(const std::string& script);

  std::unique_ptr<DriverHost> host_;
};

}  // namespace millrace::machines
