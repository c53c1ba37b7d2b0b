#include <gtest/gtest.h>

#include "schemas/media/ocr.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;

class OriginalRequests : public Served {
 protected:
  std::string deferred(const std::string& said = "Why is the sky blue?") {
    const json body = {{"model", "mock/chat"}, {"messages", said}, {"deferred", true}};
    return post("/v1/chat/completions", body.dump()).json()["request_id"];
  }
  Answer asked(const std::string& job) { return get("/v1/jobs/" + job + "/request"); }
};

TEST_F(OriginalRequests, AJobReturnsItsRequestWhileItWaitsAndAfterItsEnd) {
  start();
  const std::string job = deferred();
  const Answer waiting = asked(job);
  EXPECT_EQ(waiting.status, 200) << waiting.body;
  EXPECT_EQ(waiting.header("x-millrace-job"), job);
  const json told = waiting.json();
  EXPECT_EQ(told["job_id"], job);
  EXPECT_EQ(told["kind"], "chat");
  EXPECT_EQ(told["body"]["messages"][0]["content"], "Why is the sky blue?");
  EXPECT_EQ(told["left_out"], json::array());
  fail(claim(schemas::Kind::kChat)->lease, base::Code::kUpstream, "no");
  EXPECT_EQ(asked(job).body, waiting.body);
}

TEST_F(OriginalRequests, TheReturnedRequestMakesTheSameJobAgain) {
  start();
  const json told = asked(deferred()).json();
  const Answer again = post(told["path"], told["body"].dump());
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(asked(again.json()["request_id"]).json()["body"], told["body"]);
}

TEST_F(OriginalRequests, OtherTenantsGetNotFound) {
  start();
  const std::string job = deferred();
  EXPECT_EQ(asked("chat-01932b6c-8a00-7000-8000-000000000001").status, 404);
  EXPECT_EQ(asked("mach-01932b6c-8a00-7000-8000-000000000001").status, 404);
  EXPECT_EQ(asked("nonsense").status, 404);
  const std::string path = "/v1/jobs/" + job + "/request";
  EXPECT_EQ(send({.path = path, .key = key(schemas::ScopeSet::of_a_new_key(), "other")}).status, 404);
  EXPECT_EQ(send({.path = path, .key = key({schemas::Scope::kChat})}).status, 403);
}

TEST_F(OriginalRequests, ARequestThatIsStoredInAFileIsReturnedUpToTheLimit) {
  start({.original_request_bytes_max = 300'000});
  const std::string said(200'000, 'a');
  EXPECT_EQ(asked(deferred(said)).json()["body"]["messages"][0]["content"], said);
  const Answer larger = asked(deferred(said + said));
  EXPECT_EQ(larger.status, 413);
  EXPECT_NE(larger.body.find("http.asked_max"), std::string::npos) << larger.body;
  EXPECT_EQ(larger.header("x-should-retry"), "false");
}

TEST_F(OriginalRequests, WithoutCapacityForTheReplyTheClientRetries) {
  start({.reply_budget_bytes = 100'000});
  const Answer answer = asked(deferred(std::string(200'000, 'a')));
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("http.reply_budget"), std::string::npos) << answer.body;
}

TEST_F(OriginalRequests, ADocumentThatWasSentIsLeftOut) {
  start();
  const std::string job = post("/v1/ocr", ocr_body(pdf_of(12)), kAsync).json()["id"];
  const json told = asked(job).json();
  EXPECT_EQ(told["left_out"], json::parse(R"(["document.document_url"])"));
  EXPECT_EQ(told["path"], "/v1/ocr");
}

TEST_F(OriginalRequests, ADocumentsMediaTypeIsThatOfItsBytesInTheSpecOrInAFile) {
  start();
  for (const std::size_t bytes : {std::size_t{2'000}, schemas::kInlineDocumentMax + 1}) {
    const std::string job = post("/v1/ocr", ocr_body(pdf_of(bytes)), kAsync).json()["id"];
    EXPECT_EQ(asked(job).json()["file"], json::parse(R"({"media_type":"application/pdf"})")) << bytes;
  }
}

}  // namespace
}  // namespace millrace::api::test
