#include "platform/net/http/name_lookup.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"

namespace millrace::net {
namespace {

// Resolves every name to one address. Names that begin with "slow" wait until the gate is open.
class NameLookupTest : public ::testing::Test {
 protected:
  ~NameLookupTest() override {
    if (!open_) gate_.set_value();
    loop_.post([this] { names_->close(); });
    loop_.stop();
  }

  Resolvers::Addresses resolve(const std::string& host) {
    ++asked_;
    if (host.starts_with("slow")) gate_open_.wait();
    return Resolvers::Addresses(host == "unknown" ? 0 : 1);
  }
  // Starts a lookup. The future has the number of addresses.
  std::future<std::size_t> look_up(const std::string& host) {
    auto promise = std::make_shared<std::promise<std::size_t>>();
    loop_.post([this, host, promise] {
      names_->look_up(host, 80,
                      [promise](const NameLookup::Addresses& found) { promise->set_value(found.size()); });
    });
    return promise->get_future();
  }
  void open_gate() {
    open_ = true;
    gate_.set_value();
  }
  static bool is_told(std::future<std::size_t>& answer) {
    return answer.wait_for(support::kDeadline) == std::future_status::ready;
  }

  std::promise<void> gate_;
  std::shared_future<void> gate_open_ = gate_.get_future().share();
  bool open_ = false;
  std::atomic<int> asked_{0};
  Loop loop_{"names-test"};
  std::unique_ptr<NameLookup> names_ =
      std::make_unique<NameLookup>(loop_.impl(), [this](const std::string& host) { return resolve(host); });
};

TEST_F(NameLookupTest, ANameThatIsLongLookedUpDelaysNoOther) {
  std::vector<std::future<std::size_t>> slow;
  for (std::size_t i = 1; i < Resolvers::kThreadsMax; ++i)
    slow.push_back(look_up("slow-" + std::to_string(i)));
  auto quick = look_up("quick");
  ASSERT_TRUE(is_told(quick));
  EXPECT_EQ(quick.get(), 1U);
  for (auto& each : slow) EXPECT_EQ(each.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  open_gate();
  for (auto& each : slow) ASSERT_TRUE(is_told(each));
}

TEST_F(NameLookupTest, MoreNamesThanThreadsWaitForOne) {
  std::vector<std::future<std::size_t>> slow;
  for (std::size_t i = 0; i < 2 * Resolvers::kThreadsMax; ++i)
    slow.push_back(look_up("slow-" + std::to_string(i)));
  open_gate();
  for (auto& each : slow) ASSERT_TRUE(is_told(each));
}

TEST_F(NameLookupTest, ConcurrentLookupsOfOneNameShareAQuery) {
  auto first = look_up("slow"), second = look_up("slow");
  auto other = look_up("other");
  ASSERT_TRUE(is_told(other));
  open_gate();
  ASSERT_TRUE(is_told(first) && is_told(second));
  EXPECT_EQ(asked_, 2);
}

TEST_F(NameLookupTest, ANameThatIsNotKnownIsReportedAndNotCached) {
  for (int times = 1; times <= 2; ++times) {
    auto answer = look_up("unknown");
    ASSERT_TRUE(is_told(answer));
    EXPECT_EQ(answer.get(), 0U);
    EXPECT_EQ(asked_, times);
  }
}

TEST(Resolvers, TheSystemKnowsThisHost) {
  EXPECT_FALSE(Resolvers::of_the_system("localhost").empty());
  EXPECT_TRUE(Resolvers::of_the_system(std::string(300, 'x')).empty());
}

}  // namespace
}  // namespace millrace::net
