#include <gtest/gtest.h>

#include "app/cli/client.h"
#include "schemas/error_body.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;

ClientError read(const std::string& body) {
  ClientError error;
  error.message = "the gateway answered 400";
  read_refusal(body, error);
  return error;
}

TEST(Refusal, IsReadTheSameInEachOfItsForms) {
  for (const char* path : {"/v1/jobs/x", "/v1/machines/x"}) {
    const ClientError gone = read(schemas::error_body(path, base::error(base::Code::kNotFound, "none")).body);
    EXPECT_EQ(gone.message + "/" + gone.code, "none/not_found") << path;
    const ClientError asleep =
        read(schemas::error_body(path, base::error(base::Code::kInvalidState, "it sleeps")).body);
    EXPECT_EQ(asleep.message + "/" + asleep.code, "it sleeps/invalid_state") << path;
  }
}

TEST(Refusal, EveryFieldThatIsWrongIsNamed) {
  EXPECT_EQ(
      read(
          R"({"error": {"message": "command: too few", "code": "invalid_field"}, "errors": [{"location": "body.command", "message": "too few"},
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
