#include <thread>

#include "machines/sshd/local_sshd.h"
#include "tests/unit/machines/local_sshd_fixture.h"

// Connections whose start blocks, for example because of a slow disk or store.
namespace millrace::machines {
namespace {

using testing::StartsWith;

constexpr const char* kGreeting = "SSH-2.0-OpenSSH";

class LocalSshdStarts : public LocalSshdTest {
 protected:
  void SetUp() override {
    LocalSshdTest::SetUp();
    if (sandbox_) begin(16);
  }
  // Opens listeners that make no periodic checks during the test.
  void begin(int starts_max) {
    open({.data_dir = data_.str(), .starts_max = starts_max, .check_interval = std::chrono::hours(1)});
  }
  void TearDown() override {
    let_go();
    sshd_.reset();
  }
};

TEST_F(LocalSshdStarts, ABlockedStartOfOneMachineDoesNotDelayAnothers) {
  const LocalSshd::Endpoint other = neighbour();
  hold();
  IdleClient slow(endpoint_);
  ASSERT_TRUE(is_held());
  EXPECT_THAT(IdleClient(other).receive(), StartsWith(kGreeting));
  EXPECT_THAT(IdleClient(other).receive(), StartsWith(kGreeting));
  let_go();
  EXPECT_THAT(slow.receive(), StartsWith(kGreeting));
}

TEST_F(LocalSshdStarts, OneMachinesConnectionsStartOneAfterTheOther) {
  hold();
  IdleClient first(endpoint_), second(endpoint_);
  ASSERT_TRUE(is_held());
  EXPECT_TRUE(second.connected()) << "it waits for the first one";
  let_go();
  EXPECT_THAT(first.receive(), StartsWith(kGreeting));
  EXPECT_THAT(second.receive(), StartsWith(kGreeting));
}

TEST_F(LocalSshdStarts, WhileAsManyStartAsMayOthersWaitAndAreNotRefused) {
  begin(1);
  const LocalSshd::Endpoint other = neighbour();
  hold();
  IdleClient slow(endpoint_);
  ASSERT_TRUE(is_held());
  IdleClient waits(other);
  EXPECT_TRUE(waits.connected());
  let_go();
  EXPECT_THAT(slow.receive(), StartsWith(kGreeting));
  EXPECT_THAT(waits.receive(), StartsWith(kGreeting));
}

TEST_F(LocalSshdStarts, ClosingAMachineEndsTheConnectionThatIsBeingStarted) {
  hold();
  IdleClient client(endpoint_);
  ASSERT_TRUE(is_held());
  std::jthread closing([&] { sshd_->close(machine_.id); });
  let_go();
  EXPECT_TRUE(client.closed());
  closing.join();
  EXPECT_FALSE(IdleClient(endpoint_).connected());
}

TEST_F(LocalSshdStarts, TheEndOfAllListenersEndsTheConnectionThatIsBeingStarted) {
  hold();
  IdleClient client(endpoint_);
  ASSERT_TRUE(is_held());
  std::jthread ending([&] { sshd_.reset(); });
  let_go();
  EXPECT_TRUE(client.closed());
}

}  // namespace
}  // namespace millrace::machines
