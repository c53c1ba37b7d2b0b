#include <gtest/gtest.h>

#include "workers/jobs/worker_metrics.h"

namespace millrace::workers {
namespace {

using base::LogLevel;

std::string line_about(const storage::ClaimedJob& job) {
  testing::internal::CaptureStderr();
  log_job(LogLevel::kWarn, "job_stumbled", job, {{"why", "a stone"}});
  return testing::internal::GetCapturedStderr();
}

storage::ClaimedJob some_job() {
  storage::ClaimedJob job;
  job.lease.job.kind = schemas::Kind::kOcr;
  job.lease.attempt = 3;
  job.tenant = "acme";
  return job;
}

TEST(JobLog, ALineHasTheAttemptAndTheTraceOfTheRequest) {
  storage::ClaimedJob job = some_job();
  job.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_TRUE(line_about(job).ends_with(" warn job_stumbled job_id=" + job.lease.job.str() +
                                        " tenant=acme kind=ocr attempt=3 traceparent=" + job.traceparent +
                                        " why=\"a stone\"\n"));
}

TEST(JobLog, AJobWithoutATraceparentLogsNone) {
  EXPECT_TRUE(line_about(some_job()).ends_with(" tenant=acme kind=ocr attempt=3 why=\"a stone\"\n"));
}

}  // namespace
}  // namespace millrace::workers
