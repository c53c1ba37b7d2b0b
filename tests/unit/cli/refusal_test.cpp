#include <gtest/gtest.h>

#include "app/cli/client.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;

ClientError read(const std::string& body) {
  ClientError error;
  error.message = "the gateway answered 400";
  read_refusal(body, error);
  return error;
}

TEST(Refusal, IsReadInEachOfItsForms) {
  const ClientError usual = read(R"({"error": {"message": "no such job", "code": "not_found"}})");
  EXPECT_EQ(usual.message + "/" + usual.code, "no such job/not_found");
  const ClientError machine =
      read(R"({"error_code": "INVALID_STATE", "message": "it sleeps", "retryable": false})");
  EXPECT_EQ(machine.message + "/" + machine.code, "it sleeps/INVALID_STATE");
  const ClientError problem = read(R"({"title": "Not Found", "status": 404, "detail": "no such machine"})");
  EXPECT_EQ(problem.message + "/" + problem.code, "no such machine/");
  EXPECT_EQ(read(R"({"title": "Not Found", "status": 404})").message, "Not Found");
}

TEST(Refusal, EveryFieldThatIsWrongIsNamed) {
  EXPECT_EQ(
      read(R"({"detail": "command: too few", "errors": [{"location": "body.command", "message": "too few"},
                  {"location": "body.cwd", "message": "not a string"}]})")
          .message,
      "command: too few; body.cwd: not a string");
}

TEST(Refusal, AnEmptyErrorBodyKeepsTheKnownError) {
  for (const char* body : {"", "<html>", "[1]", "{}", R"({"error": "text"})", R"({"error_code": 5})"}) {
    EXPECT_EQ(read(body).message, "the gateway answered 400") << body;
  }
}

milliseconds after(std::string name, std::string value) {
  net::HttpReply reply;
  reply.headers.emplace_back(std::move(name), std::move(value));
  return retry_after(reply);
}

TEST(Refusal, RetryAfterDelaysTheNextRequest) {
  EXPECT_EQ(after("retry-after-ms", "250"), milliseconds(250));
  EXPECT_EQ(after("retry-after", "3"), milliseconds(3000));
  EXPECT_EQ(after("x-other", "3"), milliseconds(1000));
  EXPECT_EQ(after("retry-after", "soon"), milliseconds(1000));
  EXPECT_EQ(after("retry-after", "86400"), milliseconds(60'000));
  EXPECT_EQ(after("retry-after-ms", "99999999999999"), milliseconds(60'000));
}

}  // namespace
}  // namespace millrace::cli
