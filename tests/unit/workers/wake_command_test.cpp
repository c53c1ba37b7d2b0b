#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/processes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "workers/machines/machine_wake.h"

namespace millrace::workers {
namespace {

using support::processes_with;
using support::wait_until;

TEST(WakeCommand, WithAGatewayThatIsKilledItsWakeCommandEnds) {
  const support::TempDir dir;
  const std::string mark = "7391.25", begun = dir.str() + "/begun";
  const pid_t gateway = ::fork();
  if (gateway == 0) {
    process::Spawner spawner;
    schemas::Machine machine;
    machine.name = "build-7";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    const std::vector<std::string> words{"/bin/sh", "-c", ": > " + begun + "; exec sleep " + mark};
    static_cast<void>(run_wake_command(spawner, machine, words, deadline, {}));
    ::_exit(0);
  }
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(begun); }));
  ::kill(gateway, SIGKILL);
  ::waitpid(gateway, nullptr, 0);
  EXPECT_TRUE(wait_until([&] { return processes_with(mark) == 0; }));
}

}  // namespace
}  // namespace millrace::workers
