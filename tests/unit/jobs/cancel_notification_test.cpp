#include <gtest/gtest.h>

#include "storage/jobs/job_intake.h"
#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

// Records the jobs whose cancellation was sent to a worker of this process.
class Notified {
 public:
  void add(const schemas::JobId& job) {
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

class CancelNotification : public ::testing::Test {
 protected:
  CancelNotification() {
    core.relay->on_cancel_request([this](const schemas::JobId& job) { notified.add(job); });
  }
  bool is_notified_of(const std::vector<schemas::JobId>& jobs) {
    return support::wait_until([&] { return notified.jobs() == jobs; });
  }
  schemas::JobStatus cancel(const schemas::JobId& job) {
    support::Answer<schemas::JobView> view;
    intake.cancel({"t"}, job, view.take());
    return view.wait().value().status;
  }
  std::string remove(const schemas::JobId& job) {
    support::Answer<storage::CallReply> answer;
    intake.cancel_or_delete(
        job, {.tenant = "t", .actor = "a", .key = {}},
        [](const storage::JobRecord& record) { return std::string(schemas::public_status(record.job)); },
        answer.take());
    return answer.wait().value().body;
  }

  Core core;
  Notified notified;
  storage::JobIntake intake{*core.store};
};

TEST_F(CancelNotification, AWorkerOfThisProcessIsNotifiedAtOnceOfACancel) {
  const auto first = core.submit();
  core.claim();
  EXPECT_EQ(cancel(first), schemas::JobStatus::kRunning);
  EXPECT_TRUE(is_notified_of({first}));
  const auto second = core.submit();
  core.claim();
  EXPECT_EQ(remove(second), "running");
  EXPECT_TRUE(is_notified_of({first, second}));
}

TEST_F(CancelNotification, ACancelOfAJobThatDoesNotRunNotifiesNoWorker) {
  EXPECT_EQ(cancel(core.submit()), schemas::JobStatus::kCancelled);
  const auto job = core.submit();
  EXPECT_EQ(remove(job), "cancelled");
  EXPECT_EQ(remove(job), "cancelled") << "the second call deletes the job";
  const auto running = core.submit();
  core.claim();
  EXPECT_EQ(cancel(running), schemas::JobStatus::kRunning);
  EXPECT_TRUE(is_notified_of({running})) << "no other job was reported";
}

}  // namespace
}  // namespace millrace::jobs
