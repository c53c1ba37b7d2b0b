#include <future>

#include <gtest/gtest.h>

#include "storage/tenants/tenants.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"
#include "tests/unit/inference/scripted_upstream.h"

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

TEST_F(KeyLimits, ATenantWithoutRoomForAnImageGets409BeforeTheProviderIsCalled) {
  inference::testing::ScriptedUpstream upstream(
      {inference::testing::http(200, R"({"created":1,"data":[{"b64_json":"iVBORw0KGgo="}]})")});
  inference::ModelRow row;
  row.target.name = "up/dall-e-3";
  row.target.preset = providers::preset_named("openai");
  row.target.model = "dall-e-3";
  row.target.base_url = upstream.base_url();
  row.abilities = {inference::Ability::kImages};
  models.models = {row};
  start();
  const auto draw = [&](const std::string& more) {
    return post("/v1/images/generations", R"({"model":"up/dall-e-3","prompt":"x")" + more + "}");
  };
  ASSERT_EQ(draw("").status, 200);
  schemas::Limits full;
  full[Quota::kStoredBytes] = 1;
  std::promise<bool> set;
  storage::Tenants(*store).set(
      "default", {.limits = full, .budget = {}},
      [&](const base::Result<bool>& done) { set.set_value(done.has_value()); }, "test");
  ASSERT_TRUE(set.get_future().get());
  const std::size_t calls = upstream.bodies().size();
  const Answer refused = draw("");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(refused.json()["error"]["param"], "stored_bytes");
  EXPECT_EQ(upstream.bodies().size(), calls);
  EXPECT_EQ(draw(R"(,"response_format":"b64_json")").status, 200) << "it is not stored";
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
