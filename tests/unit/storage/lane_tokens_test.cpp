// Tokens of kinds with lanes.
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

class TokensOfLanes : public ::testing::Test {
 protected:
  Submission completion(const std::string& model) {
    Submission order = s.order();
    order.id = s.new_id(schemas::Kind::kChat);
    order.model = model;
    return order;
  }
  void beat(const SlotReport& slots) {
    const WorkerReport report{"w-1", s.incarnation, "host", "1", {slots}};
    await<HeartbeatReply>([&](auto done) { s.claims().heartbeat(report, {}, kLease, done); }).value();
  }
  std::size_t republished() {
    return await<std::vector<ReadyJob>>(
               [&](auto done) { s.upkeep().republish_lost(schemas::Kind::kChat, 1s, 99, done); })
        .value()
        .size();
  }
  bool on_ready_notified(std::size_t count) {
    return support::wait_until([&] { return s.commits().all().ready.size() >= count; });
  }

  JobStore s{true};
};

TEST_F(TokensOfLanes, ABoundedNumberOfLaneTokensExceedsTheWindow) {
  for (int i = 0; i < 300; ++i) {
    s.intake().submit(completion("m" + std::to_string(i)), [](const base::Result<Submitted>&) {});
  }
  s.submit(completion("last"));
  auto of_another_kind = s.order();
  const auto last_notified = s.submit(of_another_kind);
  constexpr auto kAll = static_cast<std::size_t>(kWindowMin + kLaneTokensMax) + 1;
  ASSERT_TRUE(on_ready_notified(kAll));
  const auto ready = s.commits().all().ready;
  EXPECT_EQ(ready.size(), kAll);
  EXPECT_EQ(ready.back().job, last_notified);
}

TEST_F(TokensOfLanes, TheWindowIsThatOfTheFreeSlotsAlsoWhereFullLanesKeepThemFree) {
  beat({schemas::Kind::kChat, 10, 0, true});
  for (int i = 0; i < 30; ++i) s.submit(completion("busy"));
  ASSERT_TRUE(on_ready_notified(20));
  s.submit(s.order());
  ASSERT_TRUE(on_ready_notified(21));
  EXPECT_EQ(s.commits().all().ready.size(), 21U);
}

TEST_F(TokensOfLanes, NoneIsLostWhileOnlyFullLanesKeepSlotsFree) {
  s.submit(completion("busy"));
  for (const bool blocked_by_lanes : {true, false}) {
    for (int i = 0; i < 2; ++i) {
      beat({schemas::Kind::kChat, 2, 0, blocked_by_lanes});
      s.clock.advance(6s);
    }
    beat({schemas::Kind::kChat, 2, 0, blocked_by_lanes});
    EXPECT_EQ(republished(), blocked_by_lanes ? 0U : 1U);
  }
}

}  // namespace
}  // namespace millrace::storage::testing
