#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/jobs/sealed_spec.h"
#include "tests/support/failing_blobs.h"
#include "tests/support/wait_until.h"
#include "tests/unit/workers/chat_fixture.h"
#include "workers/chat/chat_run.h"

namespace millrace::workers {
namespace {

using schemas::JobStatus;
using schemas::Json;

class ChatJobs : public ::testing::Test {
 protected:
  static schemas::ChatRequest request(const Json& more = Json::object()) {
    return ChatFixture::request(more);
  }
  schemas::JobId submit(storage::Submission order) { return chats.submit(std::move(order)); }
  schemas::JobId submit_spec(std::string spec) {
    storage::Submission order;
    order.spec = std::move(spec);
    return submit(std::move(order));
  }
  storage::Staged staged(const std::string& text) {
    auto blob = fixture.store->blobs().begin(static_cast<std::int64_t>(text.size())).value();
    EXPECT_TRUE(blob->append(text).has_value());
    return blob->finish().value();
  }
  schemas::ChatOutcome outcome(const schemas::JobId& job) {
    auto stored = storage::JobQueries(*fixture.store).result("default", job).value();
    const auto out = schemas::chat_outcome_from(stored.payload.value().bytes);
    EXPECT_TRUE(out.has_value());
    return out.value_or(schemas::ChatOutcome());
  }

  ChatFixture chats{ChatFixture::mock_models()};
  WorkerFixture& fixture = chats.fixture;
};

TEST_F(ChatJobs, ADeferredRequestIsAnsweredAndItsSendingIsInItsHistoryBeforeItsEnd) {
  const auto job = submit_spec(schemas::chat_spec(request()));
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
  const schemas::ChatOutcome out = outcome(job);
  EXPECT_EQ(out.model, "mock/chat");
  EXPECT_EQ(out.attempts, 1);
  EXPECT_EQ(Json::parse(out.completion)["object"], "chat.completion");
  EXPECT_TRUE(Json::parse(out.usage)["total_tokens"].is_number());
  EXPECT_EQ(chats.history(job), (std::vector<std::string>{"queued", "running", "sent", "succeeded"}));
}

TEST_F(ChatJobs, TheRequestIsReadFromWhereverItIsKept) {
  storage::Submission beside;
  beside.spec_blob = staged(schemas::chat_spec(request()));
  EXPECT_TRUE(fixture.reaches(submit(std::move(beside)), JobStatus::kSucceeded));
  storage::Submission whole;
  whole.spec = "{}";
  whole.input = staged(schemas::chat_spec(request()));
  EXPECT_TRUE(fixture.reaches(submit(std::move(whole)), JobStatus::kSucceeded));
}

TEST_F(ChatJobs, AnEncryptedRequestIsRunWithTheKeyThatEncryptedItOnly) {
  const auto sealed = [](const std::string& key, const std::string& tenant) {
    return schemas::seal_spec(key, tenant, schemas::Kind::kChat, schemas::chat_spec(request()));
  };
  EXPECT_TRUE(fixture.reaches(submit_spec(sealed(chats.secret_key, "default")), JobStatus::kSucceeded));
  storage::Submission whole;
  whole.spec = sealed(chats.secret_key, "default");
  whole.input = staged(sealed(chats.secret_key, "default"));
  EXPECT_TRUE(fixture.reaches(submit(std::move(whole)), JobStatus::kSucceeded));
  for (const std::string& spec :
       {sealed(std::string(32, 'x'), "default"), sealed(chats.secret_key, "another")}) {
    const auto job = submit_spec(spec);
    ASSERT_TRUE(fixture.reaches(job, JobStatus::kFailed));
    EXPECT_NE(fixture.view(job).error->message.find("secret key has changed"), std::string::npos);
    EXPECT_EQ(fixture.view(job).attempt, 1);
  }
}

TEST_F(ChatJobs, AModelThatHasGoneEndsTheJobWithTheErrorOfADirectRequest) {
  const auto job = submit_spec(schemas::chat_spec(request({{"model", "mock/gone"}})));
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(fixture.view(job).error->code, base::Code::kModelNotFound);
  EXPECT_EQ(fixture.view(job).error->param, "model");
}

TEST_F(ChatJobs, AnAnswerTooLongForTheJobsRowIsKeptBesideIt) {
  const Json said = Json::array({{{"role", "user"}, {"content", std::string(60'000, 'x')}}});
  storage::Submission order;
  order.spec_blob = staged(schemas::chat_spec(request({{"messages", said}})));
  const auto job = submit(std::move(order));
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
  const auto stored = storage::JobQueries(*fixture.store).result("default", job).value();
  EXPECT_TRUE(stored.payload.value().blob.has_value());
}

// Deferred completions whose requests are in an object store that does not answer. One slot.
class ChatInAnOutage : public ::testing::Test {
 protected:
  schemas::JobId submit_large() {
    storage::Submission order;
    order.spec_blob = stage(fixture.store->blobs(), schemas::chat_spec(ChatFixture::request())).value();
    faults.refuses_reads = true;
    return chats.submit(std::move(order));
  }

  support::BlobFaults faults;
  ChatFixture chats{ChatFixture::mock_models(),
                    1,
                    {.with_worker = false,
                     .with_maintenance = true,
                     .open_blobs = support::FailingBlobs::open_with(faults)}};
  WorkerFixture& fixture = chats.fixture;
};

TEST_F(ChatInAnOutage, AJobWaitsForItsRequest) {
  const auto job = submit_large();
  ASSERT_TRUE(support::wait_until([&] { return faults.refused_reads > 1; }));
  faults.refuses_reads = false;
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(chats.history(job), (std::vector<std::string>{"queued", "running", "sent", "succeeded"}));
}

TEST_F(ChatInAnOutage, AJobThatWaitsLeavesItsSlotToOthersAndLosesNoAttempt) {
  const auto large = submit_large();
  ASSERT_TRUE(support::wait_until([&] { return faults.refused_reads > 0; }));
  const auto small = chats.submit_for("mock/chat");
  ASSERT_TRUE(fixture.reaches(small, JobStatus::kSucceeded));
  EXPECT_NE(fixture.view(large).status, JobStatus::kFailed);
  faults.refuses_reads = false;
  ASSERT_TRUE(fixture.reaches(large, JobStatus::kSucceeded));
  const auto history = chats.history(large);
  EXPECT_TRUE(std::ranges::find(history, "retry") != history.end());
}

// An attempt with a limited number of permitted starts. The test completes its writes.
class CountedContext final : public AttemptContext {
 public:
  CountedContext(WorkerFixture& fixture, net::Loop& loop)
      : fixture_(fixture), loop_(loop), weak_loop_(loop), metrics_(fixture.metrics) {}
  ~CountedContext() override { weak_loop_.close(); }
  storage::Store& store() override { return *fixture_.store; }
  base::Pool& pool() override { return fixture_.pool; }
  net::Loop& loop() override { return loop_; }
  const WeakLoop& weak_loop() const override { return weak_loop_; }
  const WorkerMetrics& metrics() const override { return metrics_; }
  bool may_start() const override { return starts-- > 0; }
  std::function<bool()> start_check() const override {
    return [] { return true; };
  }
  void write_parts(std::vector<storage::JobOutcomes::Part>, std::chrono::milliseconds,
                   LeaseCallback done) override {
    done(true);
  }
  void write_events(std::vector<storage::JobOutcomes::Event>, LeaseCallback done) override { done(true); }
  void write_call(storage::JobOutcomes::ModelCall call, LeaseCallback done) override {
    EXPECT_EQ(call.event_data.empty(), !writes.empty()) << "only the first call is an event";
    calls.push_back(std::move(call));
    writes.push_back(std::move(done));
    if (refuses) writes.back()(false);
  }
  void set_used(schemas::Charge charge) override { used = charge; }
  void write_artifacts(base::Uuid, std::vector<storage::JobOutcomes::NewArtifact>,
                       LeaseCallback done) override {
    done(true);
  }
  void set_progress_total(int, LeaseCallback done) override { done(true); }
  void attach_input(storage::Staged, LeaseCallback done) override { done(true); }

  mutable int starts = 1'000;
  bool refuses = false;
  std::vector<storage::JobOutcomes::ModelCall> calls;
  std::vector<LeaseCallback> writes;
  std::optional<schemas::Charge> used;

 private:
  WorkerFixture& fixture_;
  net::Loop& loop_;
  WeakLoop weak_loop_;
  WorkerMetrics metrics_;
};

// One attempt on a separate loop.
class OneChatTry : public ChatJobs {
 protected:
  OneChatTry() {
    job.spec = schemas::chat_spec(request());
    made = std::make_shared<ChatJobRun>(
        job, context, chats.source(), chats.secret_key,
        [this](Outcome outcome) { lost.take()(std::holds_alternative<Abandoned>(outcome)); });
  }
  ~OneChatTry() override {
    on_loop([this] { made->stop(StopReason::kDrain); });
    EXPECT_TRUE(chats.chat->stop());
    on_loop([this] { made.reset(); });
  }
  void on_loop(const std::function<void()>& act) {
    Answer<bool> done;
    chats.worker->loop().post([&act, told = done.take()] {
      act();
      told(true);
    });
    EXPECT_TRUE(done.wait());
  }

  storage::ClaimedJob job;
  CountedContext context{fixture, chats.worker->loop()};
  Answer<bool> lost;
  std::shared_ptr<ChatJobRun> made;
};

TEST_F(OneChatTry, WhoseLeaseEndsDirectlyBeforeItsSendingIsLostAndHasNotFailed) {
  context.starts = 1;
  on_loop([this] { made->begin(); });
  EXPECT_TRUE(lost.wait().value());
  EXPECT_TRUE(context.writes.empty());
}

TEST_F(OneChatTry, WhoseSendingCannotBeWrittenDownIsLostAndHasNotFailed) {
  context.refuses = true;
  on_loop([this] { made->begin(); });
  EXPECT_TRUE(lost.wait().value());
}

TEST_F(OneChatTry, WhoseCallWasNotSentReportsThatItUsedNothing) {
  on_loop([this] { made->begin(); });
  const auto is_asked = [this] {
    bool asked = false;
    on_loop([&] { asked = !context.writes.empty(); });
    return asked;
  };
  ASSERT_TRUE(support::wait_until(is_asked));
  EXPECT_FALSE(context.used);
  on_loop([this] { made->stop(StopReason::kCancel); });
  EXPECT_FALSE(lost.wait().value());
  ASSERT_TRUE(context.used);
  EXPECT_EQ(0, context.used->cost);
}

TEST_F(OneChatTry, WhoseModelIsGoneReportsThatItUsedNothing) {
  job.spec = schemas::chat_spec(request({{"model", "gone/model"}}));
  made = std::make_shared<ChatJobRun>(
      job, context, chats.source(), chats.secret_key,
      [told = lost.take()](Outcome outcome) { told(std::holds_alternative<Fail>(outcome)); });
  on_loop([this] { made->begin(); });
  EXPECT_TRUE(lost.wait().value());
  ASSERT_TRUE(context.used);
  EXPECT_EQ(0, context.used->cost);
}

TEST_F(OneChatTry, WritesItsSendingDownOnceAndLooksAtItsLeaseBeforeEachCall) {
  std::vector<bool> gone;
  const auto ask = [&] { made->before_sending({}, [&](bool go) { gone.push_back(go); }); };
  on_loop([&] {
    ask();
    ask();
    EXPECT_TRUE(gone.empty());
    ASSERT_EQ(context.writes.size(), 1u);
    context.writes[0](true);
    ask();
    EXPECT_EQ(gone, std::vector<bool>(3, true));
    context.starts = 0;
    ask();
  });
  EXPECT_FALSE(gone.back());
  EXPECT_EQ(gone.size(), 4u);
  EXPECT_EQ(context.writes.size(), 1u);
  EXPECT_TRUE(lost.wait().value());
}

}  // namespace
}  // namespace millrace::workers
