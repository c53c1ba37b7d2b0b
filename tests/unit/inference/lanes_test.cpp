#include "ai/inference/routing/lanes.h"

#include <condition_variable>
#include <future>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/rows.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;
using PlacePtr = std::shared_ptr<Lanes::CallPermit>;

class LanesOfABoundedModel : public ::testing::Test {
 protected:
  void begin(const ModelLimits& limits, int rows = 1) {
    ModelSettings settings;
    for (int i = 0; i < rows; ++i) {
      settings.models.push_back(testing::row("mock/bounded"));
      settings.models.back().target.model = std::to_string(i);
      settings.models.back().limits = limits;
    }
    settings.models.push_back(testing::row("mock/free"));
    models = testing::registry(settings);
    lanes = std::make_shared<Lanes>(loop, targets, [this] { return models; });
    lanes->on_capacity([this] {
      const std::lock_guard lock(mutex);
      ++notified;
      changed.notify_all();
    });
  }
  ~LanesOfABoundedModel() override {
    kept.clear();
    lanes->close();
    loop.stop();
  }
  // Takes permits until none is free, at most `most`, and keeps them. Returns their number.
  int takes(int most) {
    int got = 0;
    for (PlacePtr place; got < most && (place = lanes->take("mock/bounded", "default")); ++got)
      kept.push_back(place);
    return got;
  }
  bool is_notified(int times) {
    std::unique_lock lock(mutex);
    return support::wait_until(changed, lock, [&] { return notified >= times; });
  }
  int notifications() {
    const std::lock_guard lock(mutex);
    return notified;
  }
  // Runs `act` on the loop with the limiter of the model's first target.
  void with_limiter(const std::function<void(TargetLimiter&, const ModelLimits&)>& act) {
    const ModelRow& row = models->configured().front()->rows.front();
    std::promise<void> done;
    loop.post([&] {
      act(targets.of(row)->limiter, row.limits);
      done.set_value();
    });
    done.get_future().wait();
  }
  void enter(int calls, std::int64_t tokens = 0) {
    with_limiter([&](TargetLimiter& limiter, const ModelLimits& limits) {
      for (int i = 0; i < calls; ++i)
        EXPECT_TRUE(limiter.enter(limits, {.tenant = "default", .tokens = tokens}, "mock/bounded"));
    });
  }
  // Calls that enter through the limiter's queue without waiting.
  void enter_waiting(int calls, std::int64_t tokens = 0) {
    with_limiter([&](TargetLimiter& limiter, const ModelLimits& limits) {
      for (int i = 0; i < calls; ++i) net::spawn(wait_in(limiter, limits, tokens));
      EXPECT_EQ(limiter.waiting(), 0);
    });
  }
  net::Task<void> wait_in(TargetLimiter& limiter, ModelLimits limits, std::int64_t tokens) {
    TargetLimiter::Call call{.tenant = "default", .tokens = tokens};
    net::Task<base::Status> wait = limiter.wait(limits, std::move(call), 0, cancel);
    const base::Status in = co_await wait;
    EXPECT_TRUE(in);
  }

  std::mutex mutex;
  std::condition_variable changed;
  int notified = 0;
  net::Cancel cancel;
  net::Loop loop{"test"};
  RegistryPtr models;
  std::shared_ptr<Lanes> lanes;
  Targets targets{loop, [this] { lanes->notify_capacity(); }};
  std::vector<PlacePtr> kept;
};

TEST_F(LanesOfABoundedModel, HaveAsManyPlacesAsCallsMayRunAtATime) {
  begin({.concurrent = 3});
  EXPECT_EQ(takes(9), 3);
  EXPECT_TRUE(lanes->take("mock/free", "default"));
  kept.pop_back();
  EXPECT_EQ(takes(9), 1);
}

TEST_F(LanesOfABoundedModel, HaveAsManyPlacesAsTheMinuteLetsThroughNow) {
  begin({.requests_per_minute = 40});
  EXPECT_EQ(takes(9), 4);
  kept.clear();
  EXPECT_EQ(takes(9), 4);
}

TEST_F(LanesOfABoundedModel, CountACallThatHasEnteredByItsLimitsAndNotByItsPlace) {
  begin({.concurrent = 3});
  EXPECT_EQ(takes(2), 2);
  enter(1);
  kept.back()->leave();
  EXPECT_EQ(takes(9), 1);
}

TEST_F(LanesOfABoundedModel, LeaveAPlaceToAnotherTenantThatUsesTheModel) {
  begin({.concurrent = 8});
  EXPECT_TRUE(lanes->take("mock/bounded", "other"));
  EXPECT_EQ(takes(9), 7);
  enter(7);
  for (const PlacePtr& place : kept) place->leave();
  EXPECT_EQ(takes(9), 0);
  EXPECT_TRUE(lanes->take("mock/bounded", "other"));
}

TEST_F(LanesOfABoundedModel, UnderATokenLimitHaveOnePermitUntilTheMeanSizeIsKnownAndNoneInDebt) {
  begin({.tokens_per_minute = 1'000});
  EXPECT_EQ(takes(9), 1);
  kept.clear();
  enter_waiting(1, 20);
  EXPECT_EQ(takes(9), 4);
  kept.clear();
  with_limiter([](TargetLimiter& limiter, const ModelLimits& limits) {
    limiter.charge(limits, 0, {.tenant = "default", .tokens = 900}, RateLimiter::Pacing::kSpread);
  });
  EXPECT_EQ(takes(9), 0);
}

TEST_F(LanesOfABoundedModel, HaveCapacityForAllWithoutLimits) {
  begin({});
  EXPECT_EQ(takes(500), 500);
}

TEST_F(LanesOfABoundedModel, HaveCapacityForARemovedModelSoThatItsRequestsFail) {
  begin({.concurrent = 1});
  EXPECT_TRUE(lanes->take("mock/gone", "default"));
}

TEST_F(LanesOfABoundedModel, HaveTheCapacityOfAllTargetsTogether) {
  begin({.concurrent = 2}, 3);
  EXPECT_EQ(takes(9), 6);
}

TEST_F(LanesOfABoundedModel, HaveNoCapacityWhileAllTargetsArePaused) {
  begin({});
  with_limiter([](TargetLimiter& limiter, const ModelLimits&) { limiter.pause_for(milliseconds(50)); });
  EXPECT_EQ(takes(9), 0);
  EXPECT_TRUE(is_notified(1));
  EXPECT_EQ(takes(9), 9);
}

TEST_F(LanesOfABoundedModel, NotifyOnlyARefusedCallerThatAPlaceWasGivenBack) {
  begin({.concurrent = 1});
  EXPECT_EQ(takes(1), 1);
  kept.clear();
  EXPECT_EQ(notifications(), 0);
  EXPECT_FALSE(lanes->some_are_full());
  EXPECT_EQ(takes(2), 1);
  EXPECT_TRUE(lanes->some_are_full());
  kept.clear();
  EXPECT_EQ(notifications(), 1);
  EXPECT_FALSE(lanes->some_are_full());
  EXPECT_EQ(takes(2), 1);
}

TEST_F(LanesOfABoundedModel, NotifyARefusedCallerWhenTheMinuteLetsTheNextThrough) {
  begin({.requests_per_minute = 600});
  enter_waiting(60);
  int before = 0;
  while (takes(9) > 0) {  // permits that were refilled meanwhile
    enter_waiting(static_cast<int>(kept.size()));
    kept.clear();
    before = notifications();
  }
  EXPECT_TRUE(is_notified(before + 1));
  EXPECT_EQ(takes(1), 1);
}

TEST_F(LanesOfABoundedModel, NotifyARefusedCallerThatADirectCallHasLeft) {
  begin({.concurrent = 1});
  enter(1);
  EXPECT_EQ(takes(9), 0);
  EXPECT_EQ(notifications(), 0);
  with_limiter([](TargetLimiter& limiter, const ModelLimits&) { limiter.leave("default"); });
  EXPECT_EQ(notifications(), 1);
  EXPECT_EQ(takes(9), 1);
}

TEST_F(LanesOfABoundedModel, HaveNoCapacityOnceTheyAreClosed) {
  begin({});
  EXPECT_EQ(takes(1), 1);
  lanes->close();
  EXPECT_EQ(takes(1), 0);
}

// Requests to a model whose breaker opens at the fifth consecutive failure.
class DeferredRequestsToABrokenTarget : public ::testing::Test {
 protected:
  static ModelSettings settings(const testing::ScriptedUpstream& upstream) {
    ModelSettings settings;
    settings.models = {testing::row("a/m", "openai"), testing::row("mock/other")};
    settings.models[0].target.base_url = upstream.base_url();
    settings.models[0].target.key = base::Secret("k");
    return settings;
  }
  void ask(std::vector<std::string> models) {
    testing::Received received;
    auto chat_request = testing::request("a/m");
    chat_request.models = std::move(models);
    chat_request.deferred = true;
    (void)dependencies.answer(chat_request, received);
  }
  bool has_capacity() { return dependencies.chat.lanes()->take("a/m", "default") != nullptr; }

  testing::ScriptedUpstream upstream{{testing::http(500, R"({"error":{"message":"broken"}})")}};
  testing::ChatFixture dependencies{settings(upstream)};
};

TEST_F(DeferredRequestsToABrokenTarget, WaitInTheQueueOnceOneWasLeftAlone) {
  ask({"a/m"});
  EXPECT_TRUE(has_capacity());
  ask({"a/m"});
  EXPECT_FALSE(has_capacity());
}

TEST_F(DeferredRequestsToABrokenTarget, DoNotWaitWhereAnotherModelMayAnswer) {
  ask({"a/m", "mock/other"});
  ask({"a/m", "mock/other"});
  ask({"a/m", "mock/other"});
  EXPECT_TRUE(has_capacity());
}

}  // namespace
}  // namespace millrace::inference
