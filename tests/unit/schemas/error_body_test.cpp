#include "schemas/error_body.h"

#include <gtest/gtest.h>

#include "schemas/json/json_body.h"

namespace millrace::schemas::error_body_test {
namespace {

using base::Code;
using schemas::Json;

TEST(ErrorBody, EveryOtherEndpointAnswersFourKeys) {
  const auto [type, body] = error_body("/v1/ocr", base::error(Code::kNotFound, "no", "thing"));
  EXPECT_EQ(type, "application/json");
  EXPECT_EQ(
      Json::parse(body),
      Json::parse(
          R"({"error":{"message":"no","type":"invalid_request_error","param":"thing","code":"not_found"}})"));
  EXPECT_EQ(Json::parse(error_body("/", base::error(Code::kNotFound, "no")).body)["error"]["param"], nullptr);
}

TEST(ErrorBody, AValidationErrorHasErrorAndDetail) {
  const Refusal refusal = invalid({{.loc = {"body", "document", "type"},
                                    .msg = "bad",
                                    .type = "literal_error",
                                    .input = "7",
                                    .ctx = R"({"expected":"x"})"}});
  const Json body = Json::parse(error_body("/v1/ocr", refusal.error, refusal.problems).body);
  EXPECT_EQ(body["error"]["param"], "document.type");
  EXPECT_EQ(body["error"]["message"], "document.type: bad");
  EXPECT_EQ(
      body["detail"],
      Json::parse(
          R"([{"loc":["body","document","type"],"msg":"bad","type":"literal_error","input":7,"ctx":{"expected":"x"}}])"));
}

TEST(ErrorBody, Every422HasADetailList) {
  const Json body =
      Json::parse(error_body("/v1/ocr", base::error(Code::kDocumentEmpty, "empty", "document")).body);
  EXPECT_EQ(body["detail"][0]["loc"], Json::parse(R"(["body","document"])"));
  EXPECT_EQ(body["error"]["code"], "document_empty");
}

// As docs/design/http-contract.md specifies, each item is a string.
TEST(ErrorBody, ADottedFieldIsTakenApartInItsPlace) {
  const auto place = [](const char* param) {
    return Json::parse(
        error_body("/v1/ocr", base::error(Code::kInvalidField, "no", param)).body)["detail"][0]["loc"];
  };
  EXPECT_EQ(place("document.document_url"), Json::parse(R"(["body","document","document_url"])"));
  EXPECT_EQ(place("mcp_servers.0"), Json::parse(R"(["body","mcp_servers","0"])"));
  EXPECT_EQ(place(""), Json::parse(R"(["body"])"));
}

// What the format has besides the part that all formats have.
Json without_error(const ErrorBody& error) {
  Json body = Json::parse(error.body);
  body.erase("error");
  return body;
}

TEST(ErrorBody, EveryFormatHasTheSameObject) {
  for (const Code code : {Code::kForbidden, Code::kNotFound, Code::kInvalidState, Code::kRateLimited,
                          Code::kInternal, Code::kInvalidField, Code::kTooLarge}) {
    const base::Error error = base::error(code, "why", "field");
    const Json usual = Json::parse(error_body("/v1/jobs", error).body);
    EXPECT_EQ(Json::parse(error_body("/v1/machines", error).body)["error"], usual["error"]);
    ASSERT_EQ(usual["error"].size(), 4u);
  }
  for (const int status : {401, 404, 408, 413, 416, 431, 503}) {
    EXPECT_EQ(Json::parse(error_body("/v1/machines/x", status, "why").body)["error"],
              Json::parse(error_body("/v1/jobs", status, "why").body)["error"]);
  }
}

TEST(ErrorBody, MachineEndpointsSpeakTheirOwnShape) {
  base::Error busy = base::error(Code::kOverloaded, "later");
  busy.retry_after = std::chrono::milliseconds(1500);
  EXPECT_EQ(
      without_error(error_body("/v1/machines/dm-1/executions", busy)),
      Json::parse(
          R"({"error_code":"DEPENDENCY_UNAVAILABLE","message":"later","retryable":true,"retry_after_ms":1500})"));
  EXPECT_EQ(
      Json::parse(error_body("/v1/machines", base::error(Code::kUnauthenticated, "who")).body)["error_code"],
      "AUTH_REQUIRED");
}

TEST(ErrorBody, MachineEndpointsAnswerProblemJsonForTheRest) {
  const ErrorBody gone = error_body("/v1/machines/x/y", base::error(Code::kNotFound, "no"));
  EXPECT_EQ(gone.content_type, "application/problem+json");
  EXPECT_EQ(without_error(gone),
            Json::parse(R"({"type":"about:blank","title":"Not Found","status":404,"detail":"no"})"));
  EXPECT_EQ(error_body("/v1/machinesx", base::error(Code::kNotFound, "no")).content_type, "application/json");
  const auto front = error_body("/v1/machines/x", 431, "too many headers");
  EXPECT_EQ(front.content_type, "application/problem+json");
  EXPECT_EQ(Json::parse(front.body)["status"], 431);
}

TEST(ErrorBody, AnErrorBeforeARouteIsKnownIsOfTheCommonShape) {
  const auto [type, body] = error_body("", 400, "bad framing");
  EXPECT_EQ(type, "application/json");
  EXPECT_EQ(Json::parse(body)["error"]["code"], "bad_request");
}

TEST(ErrorBody, BytesThatAreNotUtf8DoNotThrow) {
  EXPECT_NO_THROW(Json::parse(error_body("/x", base::error(Code::kNotFound, "\xff")).body));
}

}  // namespace
}  // namespace millrace::schemas::error_body_test
