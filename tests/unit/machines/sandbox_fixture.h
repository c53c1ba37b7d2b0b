#pragma once
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machines/sandbox/sandbox.h"
#include "platform/process/spawner.h"
#include "tests/support/temp_dir.h"

namespace millrace::machines {

// What a command did, with its output whole.
struct Ran {
  CommandEnd end;
  std::string out;
  std::string err;
};

// A sandbox over a folder of its own and one machine, by all that the host offers. Skips where no sandbox can
// be made.
class SandboxTest : public testing::Test {
 protected:
  void SetUp() override;
  virtual Sandbox::Options options() const;

  CommandRequest order_of(std::vector<std::string> command) const;
  CommandRequest shell(const std::string& script) const { return order_of({"sh", "-c", script}); }
  Ran run(const CommandRequest& order, const CancelToken& stop = {});
  // The output of a script that must end with code 0.
  std::string output_of(const std::string& script);
  // Their folders as its commands see them.
  std::string machine_folder() const;
  std::string workspace() const { return machine_folder() + "/workspace"; }

  support::TempDir data_;
  process::Spawner spawner_{process::Spawner::Options{.own_mounts = true}};
  mutable int orders_ = 0;
  base::Fd root_;  // as its commands see it
  std::unique_ptr<Sandbox> sandbox_;
  base::Uuid machine_ = *base::Uuid::parse("01890000-0000-7000-8000-0000000000ab");
};

// By what is left where neither control groups nor images can be made.
class PlainSandboxTest : public SandboxTest {
 protected:
  Sandbox::Options options() const override;
};

}  // namespace millrace::machines
