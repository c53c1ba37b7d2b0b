#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using base::Code;
using schemas::Quota;

constexpr const char* kShortReply = R"({"pages":[]})";

class KeyLimits : public Served {
 protected:
  Answer request_job(const std::string& more = {}) {
    return post("/v1/ocr", ocr_body(pdf_of(9)), kAsync + more);
  }
  void expect_too_many(const Answer& answer, const std::string& quota) {
    EXPECT_EQ(answer.status, 429) << answer.body;
    EXPECT_EQ(answer.json()["error"]["code"], "quota_exceeded");
    EXPECT_EQ(answer.json()["error"]["param"], quota);
    EXPECT_TRUE(answer.has("retry-after"));
    EXPECT_TRUE(answer.has("retry-after-ms"));
    EXPECT_FALSE(answer.has("x-should-retry"));
  }
};

TEST_F(KeyLimits, AreOffByDefault) {
  start();
  const Answer answer = get("/v1/models");
  EXPECT_FALSE(answer.has("x-ratelimit-limit-requests"));
}

TEST_F(KeyLimits, RequestsPastTheLimitGet429AndEveryReplySaysWhatIsLeft) {
  start_limited(Quota::kRequestsPerMinute, 2);
  const Answer first = get("/v1/models");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.header("x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(first.header("x-ratelimit-remaining-requests"), "1");
  EXPECT_EQ(first.header("x-ratelimit-reset-requests"), "30s");
  EXPECT_EQ(get("/v1/models").header("x-ratelimit-remaining-requests"), "0");
  const Answer third =
      send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = "{", .type = "text/plain"});
  expect_too_many(third, "requests_per_minute");
  EXPECT_EQ(third.header("x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(third.header("x-ratelimit-remaining-requests"), "0");
  EXPECT_EQ(third.header("x-ratelimit-reset-requests"), "1m0s");
  EXPECT_EQ(send({.path = "/v1/models", .key = key()}).status, 200) << "another key has a separate limit";
  EXPECT_EQ(send({.path = "/health", .key = owner}).status, 200) << "open routes are not counted";
}

TEST_F(KeyLimits, AJobPastTheLimitGets429UntilOneIsOver) {
  start_limited(Quota::kRunningJobs, 1);
  ASSERT_EQ(request_job().status, 202);
  expect_too_many(request_job(), "running_jobs");
  EXPECT_EQ(get("/v1/jobs").status, 200) << "only requests that create jobs are counted";
  finish(claim()->lease, kShortReply);
  EXPECT_TRUE(support::wait_until([&] { return request_job().status == 202; }));
  EXPECT_EQ(get("/v1/jobs").json()["items"].size(), 2u);
}

TEST_F(KeyLimits, ARequestThatCreatesNoJobDoesNotCount) {
  start_limited(Quota::kRunningJobs, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post("/v1/ocr", "{}").status, 422);
  EXPECT_EQ(request_job().status, 202);
}

TEST_F(KeyLimits, AKeyAtItsLimitMayStillJoinItsJob) {
  start_limited(Quota::kRunningJobs, 1);
  const Answer first = request_job("Idempotency-Key: k-1\r\n");
  const Answer again = request_job("Idempotency-Key: k-1\r\n");
  ASSERT_EQ(again.status, 202) << again.body;
  EXPECT_EQ(again.json()["id"], first.json()["id"]);
  expect_too_many(request_job("Idempotency-Key: k-2\r\n"), "running_jobs");
  finish(claim()->lease, kShortReply);
  EXPECT_TRUE(support::wait_until([&] { return request_job("Idempotency-Key: k-2\r\n").status == 202; }));
}

TEST_F(KeyLimits, AReplayDoesNotCount) {
  start_limited(Quota::kRunningJobs, 2);
  ASSERT_EQ(request_job("Idempotency-Key: k-1\r\n").status, 202);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(request_job("Idempotency-Key: k-1\r\n").status, 202);
  EXPECT_EQ(request_job().status, 202);
  expect_too_many(request_job(), "running_jobs");
}

TEST_F(KeyLimits, ARetryIsAJobToo) {
  start_limited(Quota::kRunningJobs, 1);
  const std::string id = request_job().json()["id"];
  fail(claim()->lease, Code::kDocumentDamaged, "broken");
  const auto retry = [&] { return post("/v1/jobs/" + id + "/retry", ""); };
  ASSERT_TRUE(support::wait_until([&] { return retry().status == 202; }));
  expect_too_many(retry(), "running_jobs");
}

}  // namespace
}  // namespace millrace::api::test
