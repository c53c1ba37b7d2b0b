#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

// How long an OCR request waits for its job, and the response when the wait ends.
namespace millrace::api::test {
namespace {

using base::Code;

class OcrWaits : public Served {
 protected:
  // Sends a document with this preference without reading the response, and claims its job, which is then
  // running. Nullopt: no job arrived.
  std::optional<storage::ClaimedJob> hand_in_and_claim(Connection& client, const std::string& preference) {
    client.send({.method = "POST",
                 .path = "/v1/ocr",
                 .key = owner,
                 .headers = "Prefer: " + preference + "\r\n",
                 .body = ocr_body(pdf_of(9))});
    std::optional<storage::ClaimedJob> job;
    (void)support::wait_until([&] { return (job = claim()).has_value(); });
    return job;
  }
};

TEST_F(OcrWaits, ASynchronousRequestWaitsForTheJobsResult) {
  start();
  Connection client(server->port());
  client.send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = ocr_body(pdf_of(9), R"(,"x":1)")});
  std::optional<storage::ClaimedJob> job;
  ASSERT_TRUE(support::wait_until([&] { return (job = claim()).has_value(); }));
  ASSERT_EQ(finish(job->lease, kReply), storage::ReportResult::kApplied);
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, kReply);
  EXPECT_EQ(answer.header("x-millrace-job"), job->lease.job.str());
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "x");
}

TEST_F(OcrWaits, ASynchronousRequestGetsTheJobsErrorWithItsStatus) {
  start();
  Connection client(server->port());
  client.send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = ocr_body(pdf_of(9))});
  std::optional<storage::ClaimedJob> job;
  ASSERT_TRUE(support::wait_until([&] { return (job = claim()).has_value(); }));
  fail(job->lease, Code::kFetchFailed, "the host does not answer");
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(answer.header("x-should-retry"), "false");
  EXPECT_EQ(answer.json()["error"]["code"], "fetch_failed");
}

TEST_F(OcrWaits, AWaitThatEndsNamesTheJobThatGoesOn) {
  start({.sync_wait = std::chrono::milliseconds(1)});
  const Answer answer = post("/v1/ocr", ocr_body(pdf_of(9)));
  ASSERT_EQ(answer.status, 504);
  EXPECT_EQ(answer.header("x-should-retry"), "false");
  const std::string id = answer.header("x-millrace-job");
  EXPECT_NE(answer.body.find(id), std::string::npos);
  EXPECT_EQ(answer.json()["error"]["code"], "upstream_timeout");
  EXPECT_EQ(get("/v1/jobs/" + id).json()["status"], "queued");
}

TEST_F(OcrWaits, APreferredWaitThatEndsIsAnsweredWithTheJobAsItIsByThen) {
  start({.public_url = "http://gateway"});
  Connection client(server->port());
  const auto job = hand_in_and_claim(client, "respond-async, wait=2");
  ASSERT_TRUE(job.has_value());
  const Answer answer = client.answer();
  const std::string id = job->lease.job.str();
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.json()["status"], "running") << "the status after the wait";
  EXPECT_EQ(answer.header("x-millrace-job"), id);
  EXPECT_EQ(answer.header("location"), "http://gateway/v1/jobs/" + id);
  EXPECT_EQ(answer.header("preference-applied"), "respond-async, wait=2");
}

TEST_F(OcrWaits, AJobThatEndsWithinThePreferredWaitIsAnsweredWithItsResult) {
  start();
  Connection client(server->port());
  const auto job = hand_in_and_claim(client, "respond-async, wait=60");
  ASSERT_TRUE(job.has_value());
  ASSERT_EQ(finish(job->lease, kReply), storage::ReportResult::kApplied);
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, kReply);
}

TEST_F(OcrWaits, APreferredWaitIsNoLongerThanTheSynchronousOne) {
  start({.sync_wait = std::chrono::milliseconds(1)});
  const Answer answer = post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: respond-async, wait=3600\r\n");
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.header("preference-applied"), "respond-async")
      << "the server reduced the wait, so it is not in the applied preferences";
}

TEST_F(OcrWaits, APreferredWaitAloneEndsTheSynchronousOneBefore) {
  start();
  const Answer answer = post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: wait=1\r\n");
  ASSERT_EQ(answer.status, 504);
  EXPECT_EQ(answer.header("preference-applied"), "wait=1");
  EXPECT_EQ(get("/v1/jobs/" + answer.header("x-millrace-job")).json()["status"], "queued");
}

TEST_F(OcrWaits, AWaitOfNoTimeChangesNothing) {
  start({.sync_wait = std::chrono::milliseconds(1)});
  const Answer async = post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: respond-async, wait=0\r\n");
  EXPECT_EQ(async.status, 202);
  EXPECT_FALSE(async.has("preference-applied"));
  EXPECT_EQ(post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: wait=0\r\n").status, 504);
}

TEST_F(OcrWaits, APreferredWaitJoinsTheRunningJobOfItsKey) {
  start({.sync_wait = std::chrono::milliseconds(1)});
  const std::string body = ocr_body(pdf_of(9));
  const std::string headers = "Idempotency-Key: k-1\r\n";
  const Answer first = post("/v1/ocr", body, headers + kAsync);
  const Answer again = post("/v1/ocr", body, headers + "Prefer: respond-async, wait=5\r\n");
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.json()["id"], first.json()["id"]);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
}

TEST_F(OcrWaits, AClientThatLeavesDoesNotCancelTheJob) {
  start();
  {
    Connection client(server->port());
    client.send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = ocr_body(pdf_of(9))});
    ASSERT_TRUE(support::wait_until(
        [&] { return waiters->count() == 1 && get("/v1/jobs").json()["items"].size() == 1; }));
  }
  EXPECT_TRUE(support::wait_until([&] { return waiters->count() == 0; }));
  EXPECT_TRUE(claim().has_value());
}

TEST_F(OcrWaits, DrainingEndsAWaitWithTheJobsName) {
  start();
  Connection client(server->port());
  client.send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = ocr_body(pdf_of(9))});
  ASSERT_TRUE(support::wait_until([&] { return get("/v1/jobs").json()["items"].size() == 1; }));
  service->drain();
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(answer.header("x-millrace-job").substr(0, 4), "ocr-");
}

}  // namespace
}  // namespace millrace::api::test
