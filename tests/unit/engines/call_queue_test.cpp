#include "ai/engines/pool/call_queue.h"

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

// A call that only waits.
class Waiting final : public EngineCall {
 public:
  explicit Waiting(std::string owner) : EngineCall(std::move(owner)) {}
  bool send_request(EngineChild& /*child*/) override { return true; }
  std::chrono::milliseconds time_limit() const override { return {}; }
  std::optional<EngineResult> handle(Event /*event*/) override { return std::nullopt; }
  std::optional<EngineResult> on_limit_hit(LimitHit /*why*/) override { return std::nullopt; }
  void end(EngineResult /*how*/) override {}
  Place place() const override { return {}; }
};

class CallQueueTest : public testing::Test {
 protected:
  bool add(const std::string& owner) { return queue_.add(std::make_shared<Waiting>(owner)); }
  // How many calls the queue takes of this owner.
  int added(const std::string& owner) {
    int count = 0;
    while (add(owner)) ++count;
    return count;
  }
  // The owners of all calls in order, each call ended before the next begins.
  std::string drained() {
    std::string owners;
    while (queue_.next_owner() != nullptr) {
      const auto call = queue_.begin_next();
      owners += call->owner();
      queue_.end(*call);
    }
    return owners;
  }

  CallQueue queue_{16};
};

TEST_F(CallQueueTest, OwnersTakeTurnsHoweverManyCallsOneHas) {
  for (int i = 0; i < 4; ++i) add("a");
  add("b");
  add("c");
  EXPECT_EQ(drained(), "abcaaa");
}

TEST_F(CallQueueTest, AnOwnerThatCameDuringACallIsNext) {
  for (int i = 0; i < 3; ++i) add("a");
  const auto first = queue_.begin_next();
  add("b");
  queue_.end(*first);
  EXPECT_EQ(drained(), "baa");
}

TEST_F(CallQueueTest, TheOwnerWithTheFewestRunningCallsIsNext) {
  for (int i = 0; i < 3; ++i) add("a");
  const auto first = queue_.begin_next();
  add("b");
  EXPECT_EQ(*queue_.next_owner(), "b");
  const auto second = queue_.begin_next();
  add("b");
  EXPECT_EQ(*queue_.next_owner(), "a") << "both run one call, and the last one of b began later";
  queue_.end(*second);
  EXPECT_EQ(*queue_.next_owner(), "b");
}

TEST_F(CallQueueTest, AnOwnerAloneFillsHalfAndLeavesSpaceForEachOther) {
  EXPECT_EQ(added("a"), 8);
  EXPECT_EQ(added("b"), 4);
  EXPECT_EQ(added("c"), 2);
  EXPECT_EQ(queue_.size(), 14U);
  drained();
  EXPECT_EQ(added("b"), 8);
}

TEST_F(CallQueueTest, CancelledCallsFreeTheirPlaces) {
  const auto cancelled = std::make_shared<Waiting>("a");
  ASSERT_TRUE(queue_.add(cancelled));
  ASSERT_TRUE(add("b"));
  cancelled->cancel();
  const auto taken = queue_.take_cancelled();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.front(), cancelled);
  EXPECT_EQ(drained(), "b");
}

}  // namespace
}  // namespace millrace::engines
