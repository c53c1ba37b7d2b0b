// Deferred completions of models with limits: completions that wait remain queued.
#include <algorithm>

#include "ai/inference/routing/lanes.h"
#include "storage/db/db.h"
#include "storage/writer/readers.h"
#include "tests/unit/workers/chat_fixture.h"

namespace millrace::workers {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

inference::ModelRow mock_row(const std::string& name, const inference::ModelLimits& limits) {
  inference::ModelRow row;
  row.target.name = name;
  row.target.preset = providers::preset_named("mock");
  row.target.model = name;
  row.limits = limits;
  return row;
}

// Two models, one of them with limits, and two slots.
class BusyAndIdleModels : public ::testing::Test {
 protected:
  static constexpr int kSlots = 2;

  void begin(const inference::ModelLimits& limits) {
    inference::ModelSettings settings;
    settings.models = {mock_row("team/busy", limits), mock_row("team/idle", {})};
    chats.emplace(std::move(settings), kSlots);
  }
  std::vector<schemas::JobId> submit(int count, const std::string& model) {
    std::vector<schemas::JobId> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(chats->submit_for(model));
    return jobs;
  }
  void all_succeed(const std::vector<schemas::JobId>& jobs) {
    for (const auto& job : jobs) EXPECT_TRUE(chats->fixture.reaches(job, JobStatus::kSucceeded));
  }
  // The free slots in the worker's last heartbeat, and whether they wait for tokens.
  std::pair<int, bool> free_slots() {
    std::pair<int, bool> free{-1, false};
    EXPECT_TRUE(chats->fixture.store->readers().read([&](storage::Db& db) {
      auto s =
          db.prepare("SELECT slots - used, free_since IS NOT NULL FROM worker_slots WHERE kind = ?1 LIMIT 1");
      if (s.bind(schemas::Kind::kChat).step()) free = {static_cast<int>(s.integer(0)), s.integer(1) == 1};
    }));
    return free;
  }

  std::optional<ChatFixture> chats;
};

TEST_F(BusyAndIdleModels, JobsOfAModelWithoutCapacityStayQueuedAtNoCostAndTakeNoSlots) {
  begin({.concurrent = 1});
  const auto only_place = chats->chat->lanes()->take("team/busy", "default");
  const auto waiting = submit(3 * kSlots, "team/busy");
  all_succeed(submit(3 * kSlots, "team/idle"));
  for (const auto& job : waiting) {
    EXPECT_EQ(chats->fixture.view(job).status, JobStatus::kQueued);
    EXPECT_EQ(chats->history(job), std::vector<std::string>{"queued"});
  }
  only_place->leave();
  all_succeed(waiting);
  for (const auto& job : waiting)
    EXPECT_EQ(chats->history(job), (std::vector<std::string>{"queued", "running", "sent", "succeeded"}));
}

TEST_F(BusyAndIdleModels, SlotsThatOnlyAFullModelKeepsFreeAreReportedAsFreeAndRepublishNoToken) {
  begin({.concurrent = 1});
  auto only_place = chats->chat->lanes()->take("team/busy", "default");
  const auto waiting = submit(1, "team/busy");
  EXPECT_TRUE(support::wait_until([&] { return free_slots() == std::pair(kSlots, false); }));
  only_place.reset();
  all_succeed(waiting);
  EXPECT_TRUE(support::wait_until([&] { return free_slots() == std::pair(kSlots, true); }));
}

TEST_F(BusyAndIdleModels, JobsOfAModelWithCapacityForOneRunInTheOrderOfSubmission) {
  begin({.concurrent = 1});
  auto only_place = chats->chat->lanes()->take("team/busy", "default");
  const auto jobs = submit(12, "team/busy");
  only_place.reset();
  all_succeed(jobs);
  std::vector<base::WallTime> started;
  for (const auto& job : jobs) started.push_back(chats->fixture.view(job).started_at.value());
  EXPECT_TRUE(std::ranges::is_sorted(started));
}

TEST_F(BusyAndIdleModels, APermitOfTheMinuteLimitIsUsedAtOnceAndNotAtTheNextPoll) {
  begin({.requests_per_minute = 600});
  const auto begun = std::chrono::steady_clock::now();
  all_succeed(submit(60 + 5, "team/busy"));  // the burst, and one more every 110 ms
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(400));
}

}  // namespace
}  // namespace millrace::workers
