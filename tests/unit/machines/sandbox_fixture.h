#pragma once
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machines/sandbox/sandbox.h"
#include "platform/process/spawner.h"
#include "tests/support/temp_dir.h"

namespace millrace::machines {

// How a command ended, and its complete output.
struct Ran {
  CommandResult end;
  std::string out;
  std::string err;
};

// A sandbox over a new folder, with one machine and everything that the host supports. Skips if no sandbox
// can be created.
class SandboxTest : public testing::Test {
 protected:
  void SetUp() override;
  virtual Sandbox::Options options() const;

  CommandRequest order_of(std::vector<std::string> command) const;
  CommandRequest shell(const std::string& script) const { return order_of({"sh", "-c", script}); }
  Ran run(const CommandRequest& order, const CancelToken& stop = {});
  // Runs a script that must exit with code 0. Returns its output.
  std::string output_of(const std::string& script);
  // The folders as the machine's commands see them.
  std::string machine_folder() const;
  std::string workspace() const { return machine_folder() + "/workspace"; }

  support::TempDir data_;
  process::Spawner spawner_{process::Spawner::Options{.own_mounts = true}};
  mutable int orders_ = 0;
  base::Fd root_;  // the root folder as the machine's commands see it
  std::unique_ptr<Sandbox> sandbox_;
  base::Uuid machine_ = *base::Uuid::parse("01890000-0000-7000-8000-0000000000ab");
};

// The sandbox of a host that supports neither control groups nor disk images.
class PlainSandboxTest : public SandboxTest {
 protected:
  Sandbox::Options options() const override;
};

}  // namespace millrace::machines
