#include "schemas/media/ocr.h"

#include <future>
#include <latch>

#include <gtest/gtest.h>

#include "platform/base/base64.h"
#include "schemas/jobs/sealed_spec.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using base::Code;
using nlohmann::json;

class Ocr : public Served {};

TEST_F(Ocr, AnAsynchronousRequestIsAnsweredWithTheJob) {
  start({.public_url = "http://gateway"});
  const Answer answer = post("/v1/ocr", ocr_body(pdf_of(9)), kAsync);
  ASSERT_EQ(answer.status, 202) << answer.body;
  const json job = answer.json();
  const std::string id = job["id"];
  EXPECT_EQ(answer.header("x-millrace-job"), id);
  EXPECT_EQ(answer.header("location"), "http://gateway/v1/jobs/" + id);
  EXPECT_EQ(job["links"]["self"], answer.header("location"));
  EXPECT_EQ(job["status"], "queued");
  EXPECT_EQ(job["model"], "vendor-ocr-latest");
  json stored = get("/v1/jobs/" + id).json();
  EXPECT_EQ(stored["id"], id);
  EXPECT_EQ(stored["status"], "queued");
}

TEST_F(Ocr, DeferredInTheBodyIsTheSame) {
  start();
  EXPECT_EQ(post("/v1/ocr", ocr_body(pdf_of(9), R"(,"deferred":true)")).status, 202);
}

TEST_F(Ocr, ASmallDocumentTravelsInTheSpec) {
  start();
  ASSERT_EQ(post("/v1/ocr", ocr_body(pdf_of(schemas::kInlineDocumentMax)), kAsync).status, 202);
  const auto job = claim();
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(job->input.has_value());
  const auto spec = schemas::unpack_ocr_spec(job->spec);
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->inline_document, pdf_of(schemas::kInlineDocumentMax));
}

TEST_F(Ocr, ALargerDocumentBecomesTheJobsInput) {
  start();
  for (const std::size_t size : {schemas::kInlineDocumentMax + 1, std::size_t{3} << 20}) {
    ASSERT_EQ(post("/v1/ocr", ocr_body(pdf_of(size)), kAsync).status, 202);
    const auto job = claim();
    ASSERT_TRUE(job.has_value() && job->input.has_value());
    EXPECT_EQ(*store->blobs().read(*job->input), pdf_of(size));
    EXPECT_EQ(schemas::unpack_ocr_spec(job->spec)->inline_document, "");
  }
}

TEST_F(Ocr, EscapedSlashesInADataUriAreUnderstood) {
  start();
  std::string document = pdf_of(5'000'000);
  for (std::size_t i = 9; i < document.size(); ++i) document[i] = static_cast<char>(i * 7919 >> 3);
  std::string body;
  for (const char c : ocr_body(document)) body.append(c == '/' ? "\\/" : std::string(1, c));
  ASSERT_EQ(post("/v1/ocr", body, kAsync).status, 202);
  const auto job = claim();
  ASSERT_TRUE(job.has_value() && job->input.has_value());
  EXPECT_EQ(*store->blobs().read(*job->input), document);
}

// The document in JSON, in base64 with line breaks as `base64 FILE` and Python's encodebytes write it.
std::string in_lines(const std::string& document) {
  const std::string base64 = base::base64_encode(document);
  std::string body = R"({"document":{"document_url":"data:application/pdf;base64,)";
  for (std::size_t at = 0; at < base64.size(); at += 76) body += base64.substr(at, 76) + "\\r\\n";
  return body + R"("}})";
}

TEST_F(Ocr, LineBreaksInADataUriAreLeftOut) {
  start();
  std::string document = pdf_of(5'000'000);
  for (std::size_t i = 9; i < document.size(); ++i) document[i] = static_cast<char>(i * 7919 >> 3);
  ASSERT_EQ(post("/v1/ocr", in_lines(document), kAsync).status, 202);
  const auto large = claim();
  ASSERT_TRUE(large.has_value() && large->input.has_value());
  EXPECT_EQ(*store->blobs().read(*large->input), document);
  document.resize(1'000);
  ASSERT_EQ(post("/v1/ocr", in_lines(document), kAsync).status, 202);
  const auto small = claim();
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(schemas::unpack_ocr_spec(small->spec)->inline_document, document);
}

TEST_F(Ocr, FiftyMegabytesInLinesAreTakenAndNoMore) {
  start();
  EXPECT_EQ(post("/v1/ocr", in_lines(pdf_of(50u << 20)), kAsync).status, 202);
  EXPECT_EQ(post("/v1/ocr", in_lines(pdf_of((50u << 20) + 3)), kAsync).status, 413);
}

TEST_F(Ocr, TheErrorSaysWhatIsWrongWithBase64) {
  start();
  const auto message = [&](const std::string& base64) {
    const Answer answer =
        post("/v1/ocr", R"({"document":{"document_url":"data:;base64,)" + base64 + R"("}})");
    return answer.json()["error"].value("message", "");
  };
  EXPECT_NE(message("JVBERi0x!!!!").find("base64 -w0"), std::string::npos);
  EXPECT_NE(message("JVBERi0xLj-_").find("URL-safe"), std::string::npos);
  const Answer placed = post("/v1/ocr", R"({"document":{"document_url":"data:;base64,!!!!"}})");
  EXPECT_EQ(placed.json()["detail"][0]["loc"], json({"body", "document", "document_url"}));
}

TEST_F(Ocr, AUrlIsLeftToTheRunnerInAnEncryptedSpec) {
  start();
  ASSERT_EQ(
      post("/v1/ocr", R"({"document":{"document_url":"https://example.org/a.pdf"},"pages":"1-2"})", kAsync)
          .status,
      202);
  const auto job = claim();
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->spec.find("example.org"), std::string::npos);
  const auto opened = schemas::open_spec(secret_key, "default", job->spec);
  ASSERT_TRUE(opened.has_value());
  const auto spec = schemas::unpack_ocr_spec(*opened);
  EXPECT_EQ(spec->document_url, "https://example.org/a.pdf");
  EXPECT_EQ(spec->pages, (schemas::PageList{1, 2}));
}

TEST_F(Ocr, DocumentsThatAreNoneAreRefusedAtOnce) {
  start();
  const auto code = [&](const std::string& body) {
    const Answer answer = post("/v1/ocr", body, kAsync);
    return std::to_string(answer.status) + " " + answer.json()["error"].value("code", "");
  };
  EXPECT_EQ(code(ocr_body("")), "422 document_empty");
  EXPECT_EQ(code(ocr_body("hello")), "422 document_unsupported");
  EXPECT_EQ(code(ocr_body(std::string(100'000, 'x'))), "422 document_unsupported");
  EXPECT_EQ(code(R"({"document":{"document_url":"data:;base64,!!!!"}})"), "422 invalid_field");
  EXPECT_EQ(
      code(R"({"document":{"document_url":"data:;base64,)" + base::base64_encode(pdf_of(99'999)) + R"(!"}})"),
      "422 invalid_field");
  EXPECT_EQ(code(ocr_body(pdf_of((50u << 20) + 1))), "413 document_too_large");
}

TEST_F(Ocr, FiftyMegabytesAreTaken) {
  start();
  EXPECT_EQ(post("/v1/ocr", ocr_body(pdf_of(50u << 20)), kAsync).status, 202);
}

TEST_F(Ocr, UnknownFieldsAreNamedInAHeader) {
  start();
  const Answer answer = post("/v1/ocr", ocr_body(pdf_of(9), R"(,"image_limit":3,"a b\n":1)"), kAsync);
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.header("x-millrace-dropped-params"), "a%20b%0A, image_limit");
}

TEST_F(Ocr, WhatWouldBeDroppedIsRefusedWhenAskedToBeStrict) {
  start();
  const std::string body = ocr_body(pdf_of(9), R"(,"table_format":"html")");
  const Answer answer = post("/v1/ocr?strict=true", body, kAsync);
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_EQ(answer.json()["error"]["param"], "table_format");
  EXPECT_FALSE(claim()) << "no job is created";
  EXPECT_EQ(post("/v1/ocr?strict=false", body, kAsync).status, 202);
  EXPECT_EQ(post("/v1/ocr?strict=true", ocr_body(pdf_of(9)), kAsync).status, 202);
  EXPECT_EQ(post("/v1/ocr?strict=maybe", body, kAsync).status, 422);
}

TEST_F(Ocr, TheSameKeyAndBodyGiveTheSameJobAndThenItsResult) {
  start();
  const std::string body = ocr_body(pdf_of(9));
  const std::string headers = "Idempotency-Key: \"k-1\"\r\n";
  const Answer first = post("/v1/ocr", body, headers + kAsync);
  const Answer again = post("/v1/ocr", body, "Idempotency-Key: k-1\r\n" + std::string(kAsync));
  ASSERT_EQ(first.status, 202);
  ASSERT_EQ(again.status, 202);
  EXPECT_EQ(again.json()["id"], first.json()["id"]);
  EXPECT_FALSE(first.has("idempotent-replayed"));
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  const auto job = claim();
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(claim().has_value());
  finish(job->lease, kReply);
  for (const std::string& more : {headers, headers + kAsync}) {
    const Answer done = post("/v1/ocr", body, more);
    EXPECT_EQ(done.status, 200);
    EXPECT_EQ(done.body, kReply);
    EXPECT_EQ(done.header("idempotent-replayed"), "true");
  }
}

TEST_F(Ocr, ASynchronousRequestJoinsTheRunningJobOfItsKey) {
  start();
  const std::string body = ocr_body(pdf_of(9));
  const std::string headers = "Idempotency-Key: k-1\r\n";
  ASSERT_EQ(post("/v1/ocr", body, headers + kAsync).status, 202);
  const auto job = claim();
  Connection client(server->port());
  client.send({.method = "POST", .path = "/v1/ocr", .key = owner, .headers = headers, .body = body});
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 1; }));
  // After this request, the server has also looked up the key for the waiting client.
  ASSERT_EQ(post("/v1/ocr", body, headers + kAsync).status, 202);
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 1; }));
  finish(job->lease, kReply);
  const Answer joined = client.answer();
  EXPECT_EQ(joined.body, kReply);
  EXPECT_EQ(joined.header("idempotent-replayed"), "true");
}

TEST_F(Ocr, AJoinedWaitThatEndsIsAReplayToo) {
  start({.sync_wait = std::chrono::milliseconds(1)});
  const std::string headers = "Idempotency-Key: k-1\r\n";
  const std::string body = ocr_body(pdf_of(9));
  const Answer first = post("/v1/ocr", body, headers);
  const Answer again = post("/v1/ocr", body, headers);
  EXPECT_EQ(first.status, 504);
  EXPECT_FALSE(first.has("idempotent-replayed"));
  EXPECT_EQ(again.status, 504);
  EXPECT_EQ(again.header("x-millrace-job"), first.header("x-millrace-job"));
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
}

// While it exists, both threads of the pool are blocked and the quick lane is full.
class FullPool {
 public:
  explicit FullPool(base::Pool& pool) {
    for (int i = 0; i < kThreads; ++i)
      EXPECT_TRUE(pool.post(base::Pool::Queue::kQuick, [gate = gate_] {
        gate->held.count_down();
        gate->go.wait();
      }));
    gate_->held.wait();
    while (pool.post(base::Pool::Queue::kQuick, [] {})) {
    }
  }
  ~FullPool() { gate_->go.count_down(); }

 private:
  static constexpr int kThreads = 2;
  // The threads may use it after this object is destroyed.
  struct Gate {
    std::latch held{kThreads}, go{1};
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_F(Ocr, AFinishedJobIsAnsweredThoughThePoolIsFull) {
  start();
  Connection client(server->port());
  client.send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = ocr_body(pdf_of(9))});
  std::optional<storage::ClaimedJob> job;
  ASSERT_TRUE(support::wait_until([&] { return (job = claim()).has_value(); }));
  std::promise<void> heard;
  {
    FullPool full(*pool);
    finish(job->lease, kReply);
    claim();  // its completion runs after the notification of the finish
    loop->post([&] { heard.set_value(); });
    heard.get_future().wait();
  }
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, kReply);
}

TEST_F(Ocr, TheSameKeyWithAnotherBodyIsRefused) {
  start();
  const std::string headers = "Idempotency-Key: k-1\r\n" + std::string(kAsync);
  ASSERT_EQ(post("/v1/ocr", ocr_body(pdf_of(9)), headers).status, 202);
  const Answer answer = post("/v1/ocr", ocr_body(pdf_of(10)), headers);
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.header("x-should-retry"), "false");
  EXPECT_EQ(answer.json()["error"]["code"], "idempotency_key_reused");
}

TEST_F(Ocr, AKeyThatMadeNoJobIsNotStored) {
  start();
  const std::string headers = "Idempotency-Key: k-1\r\n" + std::string(kAsync);
  EXPECT_EQ(post("/v1/ocr", "{}", headers).status, 422);
  EXPECT_EQ(post("/v1/ocr", ocr_body(pdf_of(9)), headers).status, 202);
}

TEST_F(Ocr, ABrokenIdempotencyKeyIsABadRequest) {
  start();
  for (const std::string& bad : {std::string(256, 'x'), std::string("\"\""), std::string("caf\xc3\xa9")}) {
    EXPECT_EQ(post("/v1/ocr", ocr_body(pdf_of(9)), "Idempotency-Key: " + bad + "\r\n").status, 400);
  }
}

TEST_F(Ocr, AValidTraceparentReachesTheWorker) {
  start();
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  post("/v1/ocr", ocr_body(pdf_of(9)), "traceparent: " + good + "\r\n" + kAsync);
  EXPECT_EQ(claim()->traceparent, good);
  for (const std::string& bad :
       {"00-" + std::string(32, '0') + good.substr(35), std::string("x"), good + "0"}) {
    post("/v1/ocr", ocr_body(pdf_of(9)), "traceparent: " + bad + "\r\n" + kAsync);
    EXPECT_EQ(claim()->traceparent, "") << bad;
  }
}

}  // namespace
}  // namespace millrace::api::test
