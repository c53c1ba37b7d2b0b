#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/base/base64.h"
#include "schemas/json/json_body.h"
#include "schemas/machines/execution.h"

namespace millrace::schemas::execution_request_test {
namespace {

using base::Code;
using schemas::Json;

tl::expected<ExecutionRequest, Refusal> parse(std::string body) {
  body.reserve(body.size() + kJsonPadding);
  return parse_execution_request(body);
}
tl::expected<ExecutionRequest, Refusal> parse(const Json& body) { return parse(body.dump()); }

Json with(const std::string& field, Json value) {
  Json out = {{"command", {"true"}}};
  out[field] = std::move(value);
  return out;
}

TEST(ExecutionRequest, OnlyTheCommandIsRequired) {
  const auto request = parse(std::string(R"({"command":["echo","a b",""]})"));
  ASSERT_TRUE(request.has_value()) << request.error().error.message;
  EXPECT_EQ(request->spec.command, (std::vector<std::string>{"echo", "a b", ""}));
  EXPECT_EQ(request->spec.timeout, std::chrono::minutes(10));
  EXPECT_EQ(request->spec.cwd + request->input, "");
  EXPECT_TRUE(request->environment.empty());
  EXPECT_FALSE(request->retry_on_worker_loss);
}

TEST(ExecutionRequest, TakesEveryField) {
  const auto request = parse(Json{{"command", {"cat"}},
                                  {"cwd", "sub/folder"},
                                  {"env", {{"B", "2"}, {"A", ""}}},
                                  {"stdin", std::string("x\0y\n", 4)},
                                  {"timeout_ms", 86'400'000},
                                  {"retry_on_worker_loss", true}});
  ASSERT_TRUE(request.has_value()) << request.error().error.message;
  EXPECT_EQ(request->spec.cwd, "sub/folder");
  EXPECT_EQ(request->spec.env_names, (std::vector<std::string>{"B", "A"}));
  EXPECT_EQ(request->environment, (Environment{{"B", "2"}, {"A", ""}}));
  EXPECT_EQ(request->input, std::string("x\0y\n", 4));
  EXPECT_EQ(request->spec.timeout, std::chrono::hours(24));
  EXPECT_TRUE(request->retry_on_worker_loss);
}

TEST(ExecutionRequest, StdinOfAnyBytesComesAsBase64) {
  const auto input_of = [](const Json& encoded) {
    const auto request = parse(with("stdin_base64", encoded));
    return request ? request->input : request.error().error.param + ": " + request.error().error.message;
  };
  EXPECT_EQ(input_of("/wCA"), std::string("\xff\0\x80", 3));
  EXPECT_EQ(input_of(""), "");
  EXPECT_EQ(input_of(base::base64_encode(std::string(8'388'608, '\xff'))).size(), 8'388'608U);
  EXPECT_THAT(input_of(base::base64_encode(std::string(8'388'609, 'x'))), ::testing::HasSubstr("8 MiB"));
  EXPECT_THAT(input_of("no base64!"), ::testing::StartsWith("stdin_base64: "));
  EXPECT_THAT(input_of(7), ::testing::HasSubstr("valid string"));
}

TEST(ExecutionRequest, OnlyOneFormOfStdinMayBeGiven) {
  for (const char* encoded : {"eA==", ""}) {
    for (const char* plain : {"x", ""}) {
      Json both = with("stdin_base64", encoded);
      both["stdin"] = plain;
      const auto refused = parse(both);
      ASSERT_FALSE(refused.has_value()) << encoded << plain;
      EXPECT_EQ(refused.error().error.param, "stdin_base64");
      EXPECT_THAT(refused.error().error.message, ::testing::HasSubstr("`stdin` and `stdin_base64`"));
    }
    Json one = with("stdin_base64", encoded);
    one["stdin"] = nullptr;
    EXPECT_TRUE(parse(one).has_value());
  }
}

TEST(ExecutionRequest, NullIsAbsent) {
  EXPECT_TRUE(
      parse(std::string(R"({"command":["true"],"cwd":null,"env":null,"stdin":null,"timeout_ms":null})"))
          .has_value());
}

TEST(ExecutionRequest, TakesWhatIsJustInsideItsBounds) {
  EXPECT_TRUE(parse(with("command", std::vector<std::string>(1024, "x"))).has_value());
  EXPECT_TRUE(parse(with("command", {std::string(131'071, 'x')})).has_value());
  EXPECT_TRUE(parse(with("stdin", std::string(8'388'608, 'x'))).has_value());
  EXPECT_TRUE(parse(with("timeout_ms", 1)).has_value());
  Json env = Json::object();
  for (int i = 0; i < 256; ++i) env["V" + std::to_string(i)] = "x";
  EXPECT_TRUE(parse(with("env", env)).has_value());
  EXPECT_TRUE(parse(with("env", {{"A", std::string(131'069, 'x')}})).has_value());
}

struct Refused {
  Json body;
  std::string param;
  std::string bound;  // expected part of the message
};

TEST(ExecutionRequest, RefusesWhatIsOutsideItsBoundsNamingThem) {
  const std::string nul("a\0b", 3);
  Json many = Json::object();
  for (int i = 0; i < 257; ++i) many["V" + std::to_string(i)] = "x";
  const Refused table[] = {
      {Json::object(), "command", "required"},
      {with("command", Json::array()), "command", "at least 1"},
      {with("command", "ls -l"), "command", "list of strings"},
      {with("command", {""}), "command", "program"},
      {with("command", {"a", 7}), "command", "Item 1"},
      {with("command", {"a", nul}), "command", "NUL"},
      {with("command", std::vector<std::string>(1025, "x")), "command", "1024"},
      {with("command", {"a", std::string(129 * 1024, 'x')}), "command", "128 KiB"},
      {with("command", {std::string(131'072, 'x')}), "command", "128 KiB"},
      {with("env", many), "env", "256"},
      {with("env", {{"A", std::string(131'070, 'x')}}), "env", "128 KiB"},
      {with("env", {{"", "x"}}), "env", "empty"},
      {with("env", {{"A=B", "x"}}), "env", "'='"},
      {with("env", {{nul, "x"}}), "env", "NUL"},
      {with("env", {{"A", nul}}), "env", "NUL"},
      {with("env", {{"A", 7}}), "env", "string"},
      {with("env", "A=B"), "env", "object"},
      {with("cwd", nul), "cwd", "NUL"},
      {with("cwd", 7), "cwd", "string"},
      {with("cwd", std::string(4096, 'x')), "cwd", "4095"},
      {with("stdin", std::string(8'388'609, 'x')), "stdin", "8388608"},
      {with("stdin", 7), "stdin", "string"},
      {with("timeout_ms", -1), "timeout_ms", "1"},
      {with("timeout_ms", 0), "timeout_ms", "1"},
      {with("timeout_ms", 86'400'001), "timeout_ms", "86400000"},
      {with("timeout_ms", 18'000'000'000'000'000'000u), "timeout_ms", "86400000"},
      {with("timeout_ms", 1.5), "timeout_ms", "integer"},
      {with("retry_on_worker_loss", "yes"), "retry_on_worker_loss", "true or false"},
      {with("timeout", 5), "timeout", "no such field"},
  };
  for (const Refused& row : table) {
    const auto request = parse(row.body);
    ASSERT_FALSE(request.has_value()) << row.param << row.bound;
    const Refusal& refusal = request.error();
    EXPECT_EQ(refusal.error.code, Code::kInvalidField) << row.param << row.bound;
    EXPECT_EQ(refusal.error.param, row.param);
    EXPECT_NE(refusal.error.message.find(row.bound), std::string::npos) << refusal.error.message;
    ASSERT_FALSE(refusal.problems.empty());
  }
}

TEST(ExecutionRequest, ANumberThatFitsNowhereIsOutOfItsBoundAsAnyOther) {
  const std::pair<std::string, std::string> table[] = {
      {"1" + std::string(30, '0'), "86400000"},
      {"1" + std::string(5000, '0'), "86400000"},
      {"1e400", "86400000"},
      {"-1" + std::string(30, '0'), "greater than or equal to 1"},
      {"-1e400", "greater than or equal to 1"},
  };
  for (const auto& [number, bound] : table) {
    std::string body = R"({"command":["x"],"timeout_ms":)" + number + "}";
    const auto request = parse_execution_request(body);
    ASSERT_FALSE(request.has_value()) << number;
    EXPECT_EQ(request.error().error.code, Code::kInvalidField) << number;
    EXPECT_EQ(request.error().error.param, "timeout_ms");
    EXPECT_NE(request.error().error.message.find(bound), std::string::npos) << request.error().error.message;
  }
}

TEST(ExecutionRequest, NeverEchoesAVariablesValue) {
  for (const Json& env : {Json{{"A=", "s3cret"}}, Json{{"A", {"s3cret"}}}, Json("A=s3cret"),
                          Json{{"A", std::string("s3cret\0", 7)}}}) {
    const auto request = parse(with("env", env));
    ASSERT_FALSE(request.has_value());
    const ErrorBody body =
        error_body("/v1/machines/x/executions", request.error().error, request.error().problems);
    EXPECT_EQ(body.body.find("s3cret"), std::string::npos) << body.body;
    EXPECT_EQ(body.content_type, "application/problem+json");
  }
}

TEST(ExecutionRequest, NamesSomeOfManyUnknownFields) {
  Json body = {{"command", {"true"}}};
  for (int i = 0; i < 100; ++i) body[std::to_string(i) + std::string(200, 'x')] = 1;
  const auto request = parse(body);
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().problems.size(), 32u);
  EXPECT_EQ(request.error().problems.front().loc.back().size(), 64u);
}

TEST(ExecutionRequest, MalformedJsonIsABadRequest) {
  EXPECT_EQ(parse(std::string("{")).error().error.code, Code::kBadRequest);
  EXPECT_EQ(parse(std::string(R"({"command":["a"],"env":{"A":"1","A":"2"}})")).error().error.code,
            Code::kBadRequest);
}

}  // namespace
}  // namespace millrace::schemas::execution_request_test
