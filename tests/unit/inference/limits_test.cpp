#include "ai/inference/routing/limits.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/wait_until.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

net::Task<void> wait_in(TargetLimiter& limiter, ModelLimits limits, int priority, int number,
                        net::Cancel& cancel, std::vector<int>& order, std::string tenant = {}) {
  TargetLimiter::Call call{.tenant = std::move(tenant)};
  net::Task<base::Status> wait = limiter.wait(limits, std::move(call), priority, cancel);
  const base::Status in = co_await wait;
  order.push_back(in ? number : -number);
}

// Runs `act` on the loop's thread.
void on_loop(net::Loop& loop, const std::function<void()>& act) {
  std::promise<void> done;
  loop.post([&] {
    act();
    done.set_value();
  });
  done.get_future().wait();
}

TEST(TargetLimiter, ThoseWhoWaitEnterByPriorityThenInTheirOrder) {
  net::Loop loop("test");
  TargetLimiter limiter(loop);
  net::Cancel cancel;
  const ModelLimits one{.concurrent = 1};
  std::vector<int> order;
  on_loop(loop, [&] {
    ASSERT_TRUE(limiter.enter(one, {}, "a/m"));
    net::spawn(wait_in(limiter, one, 0, 1, cancel, order));
    net::spawn(wait_in(limiter, one, 5, 2, cancel, order));
    net::spawn(wait_in(limiter, one, 0, 3, cancel, order));
    net::spawn(wait_in(limiter, one, 5, 4, cancel, order));
  });
  EXPECT_EQ(4, limiter.waiting());
  for (int i = 0; i < 4; ++i) on_loop(loop, [&] { limiter.leave({}); });
  EXPECT_EQ((std::vector<int>{2, 4, 1, 3}), order);
  EXPECT_EQ(0, limiter.waiting());
  EXPECT_EQ(1, limiter.running());
  loop.stop();
}

TEST(TargetLimiter, ADirectCallIsRefusedWithTheTimeToWaitWhenThereIsNoPlace) {
  net::Loop loop("test");
  TargetLimiter limiter(loop);
  on_loop(loop, [&] {
    const ModelLimits limits{.requests_per_minute = 1};
    EXPECT_TRUE(limiter.enter(limits, {}, "a/m"));
    const base::Status full = limiter.enter(limits, {}, "a/m");
    ASSERT_FALSE(full);
    EXPECT_EQ(base::Code::kRateLimited, full.error().code);
    EXPECT_GT(full.error().retry_after, std::chrono::seconds(50));
    EXPECT_LE(full.error().retry_after, std::chrono::seconds(61));
  });
}

TEST(TargetLimiter, ARefusalNamesTheModelAndTheLimitThatIsUsedUp) {
  net::Loop loop("test");
  const auto refusal = [&](const ModelLimits& limits) {
    TargetLimiter limiter(loop);
    std::string message;
    on_loop(loop, [&] {
      while (limiter.enter(limits, {.tokens = 1}, "team/small")) {
      }
      message = limiter.enter(limits, {.tokens = 1}, "team/small").error().message;
    });
    return message;
  };
  EXPECT_EQ("model 'team/small' is at its limit of 5 requests per minute",
            refusal({.requests_per_minute = 5}));
  EXPECT_EQ("model 'team/small' is at its limit of 1 request per minute",
            refusal({.requests_per_minute = 1}));
  EXPECT_EQ("model 'team/small' is at its limit of 7 tokens per minute", refusal({.tokens_per_minute = 7}));
  EXPECT_EQ("model 'team/small' is at its limit of 2 calls at a time", refusal({.concurrent = 2}));
}

TEST(TargetLimiter, DirectCallsMayUseTheMinuteLimitAtOnceAndQueuedCallsATenth) {
  net::Loop loop("test");
  const ModelLimits limits{.requests_per_minute = 50};
  TargetLimiter limiter(loop);
  net::Cancel cancel;
  std::vector<int> order;
  on_loop(loop, [&] {
    EXPECT_EQ(5, limiter.capacity(limits, {}).calls);
    for (int i = 1; i <= 7; ++i) net::spawn(wait_in(limiter, limits, 0, i, cancel, order));
  });
  on_loop(loop, [&] {
    EXPECT_EQ((std::vector<int>{1, 2, 3, 4, 5}), order);
    int direct = 0;
    while (limiter.enter(limits, {}, "a/m")) ++direct;
    EXPECT_EQ(45, direct);
    EXPECT_EQ(0, limiter.capacity(limits, {}).calls);
    EXPECT_GT(limiter.capacity(limits, {}).wait, std::chrono::seconds(50));
    cancel.request();
  });
  on_loop(loop, [] {});
  loop.stop();
}

TEST(TargetLimiter, ACancelTakesItsPlaceOutOfTheQueueAndNoOtherOnes) {
  net::Loop loop("test");
  TargetLimiter limiter(loop);
  net::Cancel one_cancel, other_cancel;
  const ModelLimits one{.concurrent = 1};
  std::vector<int> order;
  on_loop(loop, [&] {
    ASSERT_TRUE(limiter.enter(one, {}, "a/m"));
    net::spawn(wait_in(limiter, one, 0, 1, one_cancel, order));
    net::spawn(wait_in(limiter, one, 0, 2, other_cancel, order));
    one_cancel.request();
  });
  on_loop(loop, [&] { limiter.leave({}); });
  on_loop(loop, [] {});  // tasks that the loop posts to itself may run after tasks from other threads
  EXPECT_THAT(order, ::testing::UnorderedElementsAre(-1, 2));
  EXPECT_EQ(1, limiter.running());
  loop.stop();
}

TEST(TargetLimiter, AMinutesLimitLetsThoseInWhoWaitWhenItIsTime) {
  net::Loop loop("test");
  TargetLimiter limiter(loop);
  net::Cancel cancel;
  const ModelLimits many{.requests_per_minute = 6000};
  std::vector<int> order;
  std::atomic<std::size_t> in{0};
  on_loop(loop, [&] {
    for (int i = 1; i <= 605; ++i) net::spawn(wait_in(limiter, many, 0, i, cancel, order), [&] { ++in; });
  });
  EXPECT_TRUE(support::wait_until([&] { return in == 605; }));
  EXPECT_EQ(605, limiter.running());
  loop.stop();
}

TEST(TargetLimiter, WaitingCallsPauseForAnOverloadedTargetAndDirectCallsDoNot) {
  net::Loop loop("test");
  TargetLimiter limiter(loop);
  net::Cancel cancel;
  std::vector<int> order;
  std::atomic<bool> in{false};
  const auto begin = std::chrono::steady_clock::now();
  on_loop(loop, [&] {
    limiter.pause_for(milliseconds(40));
    net::spawn(wait_in(limiter, {}, 0, 1, cancel, order), [&] { in = true; });
    EXPECT_TRUE(order.empty());
    EXPECT_TRUE(limiter.enter({}, {}, "a/m"));
  });
  EXPECT_TRUE(support::wait_until([&] { return in.load(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(40));
  loop.stop();
}

int admitted(TargetLimiter& limiter, const ModelLimits& limits, const TargetLimiter::Call& call) {
  int calls = 0;
  while (limiter.enter(limits, call, "team/m")) ++calls;
  return calls;
}

TEST(TargetLimiter, ATenantAloneMayUseTheWholeLimit) {
  net::Loop loop("test");
  on_loop(loop, [&] {
    TargetLimiter concurrent(loop), requests(loop), tokens(loop);
    EXPECT_EQ(8, admitted(concurrent, {.concurrent = 8}, {.tenant = "a"}));
    EXPECT_EQ(80, admitted(requests, {.requests_per_minute = 80}, {.tenant = "a"}));
    EXPECT_EQ(8, admitted(tokens, {.tokens_per_minute = 800}, {.tenant = "a", .tokens = 100}));
  });
}

TEST(TargetLimiter, WhileAnotherTenantUsesTheTargetATenantLeavesAnEighthOfEachLimit) {
  net::Loop loop("test");
  on_loop(loop, [&] {
    const auto admitted_beside_another = [&](const ModelLimits& limits, std::int64_t tokens) {
      TargetLimiter limiter(loop);
      EXPECT_TRUE(limiter.enter(limits, {.tenant = "b"}, "team/m"));
      limiter.leave("b");
      const int calls = admitted(limiter, limits, {.tenant = "a", .tokens = tokens});
      EXPECT_EQ(0, limiter.capacity(limits, "a").calls);
      EXPECT_TRUE(limiter.enter(limits, {.tenant = "b", .tokens = tokens}, "team/m"));
      return calls;
    };
    EXPECT_EQ(7, admitted_beside_another({.concurrent = 8}, 0));
    EXPECT_EQ(70, admitted_beside_another({.requests_per_minute = 80}, 0));
    EXPECT_EQ(7, admitted_beside_another({.tokens_per_minute = 1'600}, 200));
  });
}

TEST(TargetLimiter, ATenantMayAlwaysHaveOneCall) {
  net::Loop loop("test");
  on_loop(loop, [&] {
    TargetLimiter limiter(loop);
    const ModelLimits one{.concurrent = 1};
    ASSERT_TRUE(limiter.enter(one, {.tenant = "b"}, "team/m"));
    limiter.leave("b");
    EXPECT_EQ(1, admitted(limiter, one, {.tenant = "a"}));
  });
}

TEST(TargetLimiter, TheRefusalNamesTheShareOfATenant) {
  net::Loop loop("test");
  on_loop(loop, [&] {
    TargetLimiter limiter(loop);
    const ModelLimits limits{.concurrent = 4};
    ASSERT_TRUE(limiter.enter(limits, {.tenant = "b"}, "team/m"));
    limiter.leave("b");
    admitted(limiter, limits, {.tenant = "a"});
    EXPECT_EQ("model 'team/m' is at its limit of 3 calls at a time for one of several tenants",
              limiter.enter(limits, {.tenant = "a"}, "team/m").error().message);
  });
}

TEST(TargetLimiter, OfThoseWhoWaitTheTenantWithTheFewestCallsEntersFirst) {
  net::Loop loop("test");
  TargetLimiter limiter(loop);
  net::Cancel cancel;
  const ModelLimits two{.concurrent = 2};
  std::vector<int> order;
  on_loop(loop, [&] {
    ASSERT_EQ(2, admitted(limiter, two, {.tenant = "a"}));
    for (int i = 1; i <= 3; ++i) net::spawn(wait_in(limiter, two, 9, i, cancel, order, "a"));
    for (int i = 11; i <= 12; ++i) net::spawn(wait_in(limiter, two, 0, i, cancel, order, "b"));
    net::spawn(wait_in(limiter, two, 0, 21, cancel, order, "c"));
  });
  on_loop(loop, [&] { limiter.leave("a"); });
  on_loop(loop, [&] { limiter.leave("a"); });
  on_loop(loop, [&] { limiter.leave("b"); });
  on_loop(loop, [&] { limiter.leave("c"); });
  on_loop(loop, [] {});
  EXPECT_EQ((std::vector<int>{11, 21, 1, 12}), order);
  on_loop(loop, [&] { cancel.request(); });
  on_loop(loop, [] {});
  loop.stop();
}

}  // namespace
}  // namespace millrace::inference
