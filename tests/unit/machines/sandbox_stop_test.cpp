#include <csignal>
#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/processes.h"
#include "tests/support/wait_until.h"
#include "tests/unit/machines/sandbox_fixture.h"

// The rules of cancellation for every driver are in tests/contract/driver_contract_stop.cpp.
namespace millrace::machines {
namespace {

using How = CommandResult::How;
using support::processes_with;

TEST_F(SandboxTest, KillingAllThatItSeesEndsTheCommandAlone) {
  const Ran ran = run(shell("kill -9 1; kill -9 -1; echo still here; kill -9 $$"));
  EXPECT_EQ(ran.end.how, How::kSignalled);
  EXPECT_EQ(ran.end.signal, SIGKILL);
  EXPECT_EQ(ran.out, "still here\n");
}

TEST_F(SandboxTest, AMachineStopsEvenWhileItsOutputIsNotRead) {
  std::promise<void> released, blocked;
  std::once_flag once, first;
  CommandHooks hooks;
  hooks.output = [&, until = released.get_future().share()](auto, auto) {
    std::call_once(first, [&] { blocked.set_value(); });
    until.wait();
  };
  hooks.on_ending = [&] { std::call_once(once, [&] { released.set_value(); }); };
  CommandResult end;
  std::jthread command([&] { end = sandbox_->run(shell("echo up; exec sleep 600"), CancelToken(), hooks); });
  blocked.get_future().wait();
  EXPECT_TRUE(sandbox_->stop(order_of({}).machine, {}));
  command.join();
  EXPECT_EQ(end.message, "the machine was stopped while the command ran");
}

TEST(Sandbox, WithAGatewayThatIsKilledItsCommandsEnd) {
  const support::TempDir data;
  ::chmod(data.str().c_str(), 0711);
  const pid_t gateway = ::fork();
  if (gateway == 0) {
    process::Spawner spawner;
    auto sandbox = Sandbox::open({.data_dir = data.str()}, spawner);
    CommandRequest order;
    order.command = {"sleep", "7396.25"};
    if (sandbox) (*sandbox)->run(order, CancelToken(), {});
    ::_exit(0);
  }
  const auto ended = [&] { return ::waitpid(gateway, nullptr, WNOHANG) != 0; };
  bool over = false;
  EXPECT_TRUE(support::wait_until([&] { return (over = ended()) || processes_with("7396.25") > 0; }));
  if (over) GTEST_SKIP() << "no sandbox can be created here";
  ::kill(gateway, SIGKILL);
  ::waitpid(gateway, nullptr, 0);
  EXPECT_TRUE(support::wait_until([] { return processes_with("7396.25") == 0; }));
}

}  // namespace
}  // namespace millrace::machines
