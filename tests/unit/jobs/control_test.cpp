#include "jobs/control.h"

#include <gtest/gtest.h>

#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

// Records the jobs whose cancellation was sent to a worker of this process.
class Notified {
 public:
  void hear(const schemas::JobId& job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  std::vector<schemas::JobId> jobs() const {
    const std::lock_guard lock(mutex_);
    return jobs_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<schemas::JobId> jobs_;
};

class ControlTest : public ::testing::Test {
 protected:
  ControlTest() {
    core.relay->on_cancel_request([this](const schemas::JobId& job) { notified.hear(job); });
  }
  bool is_notified_of(const std::vector<schemas::JobId>& jobs) {
    return support::wait_until([&] { return notified.jobs() == jobs; });
  }
  schemas::JobStatus cancel(const schemas::JobId& job) {
    support::Answer<schemas::JobView> view;
    control.cancel({"t"}, job, view.take());
    return view.wait().value().status;
  }
  std::string remove(const schemas::JobId& job) {
    support::Answer<storage::CallReply> answer;
    control.remove(
        job, {.tenant = "t", .actor = "a", .key = {}},
        [](const storage::JobRecord& record) { return std::string(schemas::public_status(record.job)); },
        answer.take());
    return answer.wait().value().body;
  }

  Core core;
  Notified notified;
  Control control{*core.store, core.clock};
};

TEST_F(ControlTest, AWorkerOfThisProcessIsNotifiedAtOnceOfACancel) {
  const auto first = core.submit();
  core.claim();
  EXPECT_EQ(cancel(first), schemas::JobStatus::kRunning);
  EXPECT_TRUE(is_notified_of({first}));
  const auto second = core.submit();
  core.claim();
  EXPECT_EQ(remove(second), "running");
  EXPECT_TRUE(is_notified_of({first, second}));
}

TEST_F(ControlTest, ACancelOfAJobThatDoesNotRunNotifiesNoWorker) {
  EXPECT_EQ(cancel(core.submit()), schemas::JobStatus::kCancelled);
  const auto job = core.submit();
  EXPECT_EQ(remove(job), "cancelled");
  EXPECT_EQ(remove(job), "cancelled") << "the second call deletes the job";
  const auto running = core.submit();
  core.claim();
  EXPECT_EQ(cancel(running), schemas::JobStatus::kRunning);
  EXPECT_TRUE(is_notified_of({running})) << "no other job was reported";
}

TEST_F(ControlTest, OnlyAJobThatIsOverIsForgotten) {
  const auto job = core.submit();
  support::Answer<bool> early, late;
  control.forget({"t"}, job, early.take());
  EXPECT_EQ(early.wait().error().code, base::Code::kInvalidState);
  cancel(job);
  control.forget({"t"}, job, late.take());
  EXPECT_TRUE(late.wait().value());
}

}  // namespace
}  // namespace millrace::jobs
