#include "tests/unit/storage/machine_store.h"

// DELETE of an execution, in one write.
namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::JobId;

class ExecutionRemoval : public ::testing::Test {
 protected:
  base::Result<CallReply> remove(const JobId& job, IdempotentCall call) {
    return await<CallReply>([&](auto done) {
      const auto reply = [](const JobRecord& record) {
        return std::string(schemas::public_status(record.job)) + (record.job.cancel_requested ? "!" : "");
      };
      s.intake().cancel_or_delete(job, std::move(call), reply, done);
    });
  }
  base::Result<CallReply> remove(const JobId& job) { return remove(job, s.call()); }

  // The jobs whose cancellation was requested from workers.
  std::vector<JobId> cancel_requests() { return s.commits().all().cancel_requests; }

  MachineStore s;
};

TEST_F(ExecutionRemoval, AQueuedJobIsCancelledAtOnce) {
  const JobId job = s.submit(s.command());
  const auto removed = remove(job).value();
  EXPECT_EQ(removed.body, "cancelled");
  EXPECT_EQ(s.status(job), JobStatus::kCancelled);
  EXPECT_EQ(s.audited(job.str()), std::vector<std::string>{"execution.cancel by key-1"});
  EXPECT_TRUE(cancel_requests().empty());
}

TEST_F(ExecutionRemoval, ACancelIsRequestedOfARunningJobAndASecondRequestChangesNothing) {
  const Lease lease = s.run_command();
  for (int i = 0; i < 2; ++i) {
    const auto removed = remove(lease.job).value();
    EXPECT_EQ(removed.body, "running!");
  }
  EXPECT_TRUE(support::wait_until([&] { return cancel_requests() == std::vector{lease.job, lease.job}; }));
  EXPECT_EQ(s.status(lease.job), JobStatus::kRunning);
}

TEST_F(ExecutionRemoval, AFinishedJobIsDeletedAndItsLastStateReturned) {
  const Lease lease = s.run_command();
  s.finish(lease);
  EXPECT_EQ(remove(lease.job)->body, "succeeded");
  EXPECT_EQ(s.queries().job(kTenant, lease.job).error().code, Code::kNotFound);
  EXPECT_EQ(remove(lease.job).error().code, Code::kNotFound);
  EXPECT_EQ(s.audited(lease.job.str()), std::vector<std::string>{"execution.delete by key-1"});
}

TEST_F(ExecutionRemoval, ALostCancelThatIsRepeatedWithItsKeyForgetsNothing) {
  const JobId job = s.submit(s.command());
  EXPECT_EQ(remove(job, s.call("k"))->body, "cancelled");
  const auto again = remove(job, s.call("k")).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.body, "cancelled");
  EXPECT_EQ(s.status(job), JobStatus::kCancelled);
  EXPECT_EQ(remove(job, s.call("k", "other")).error().code, Code::kIdempotencyReused);
  EXPECT_EQ(remove(job, s.call("k-2"))->body, "cancelled");
  EXPECT_EQ(s.queries().job(kTenant, job).error().code, Code::kNotFound);
  EXPECT_TRUE(remove(job, s.call("k-2"))->replayed) << "also after the job is deleted";
}

TEST_F(ExecutionRemoval, AnothersJobIsNotThere) {
  const JobId job = s.submit(s.command());
  IdempotentCall others = s.call();
  others.tenant = "other";
  EXPECT_EQ(remove(job, others).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace millrace::storage::testing
