#include "ai/providers/upstream_error.h"

#include <gtest/gtest.h>

#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::upstream_error_test {
namespace {

using base::Code;
using std::chrono::milliseconds;
using testing::target_of;
using Headers = std::vector<std::pair<std::string, std::string>>;

base::Error error_of(int status, const Headers& headers = {}, std::string_view body = "{}") {
  return upstream_error(target_of("openai", "gpt-4o"), status, headers, body);
}

TEST(UpstreamError, EachStatusHasItsCode) {
  const std::pair<int, Code> codes[] = {
      {400, Code::kBadRequest},      {422, Code::kBadRequest}, {401, Code::kUpstream},
      {403, Code::kUpstream},        {402, Code::kUpstream},   {404, Code::kModelNotFound},
      {408, Code::kUpstreamTimeout}, {413, Code::kTooLarge},   {429, Code::kRateLimited},
      {500, Code::kUpstream},        {502, Code::kUpstream},   {503, Code::kOverloaded},
      {504, Code::kUpstreamTimeout}, {529, Code::kOverloaded}, {302, Code::kUpstream}};
  for (const auto& [status, code] : codes) EXPECT_EQ(code, error_of(status).code) << status;
}

TEST(UpstreamError, AKeyIsAtFaultByStatusOrByTheFieldsOfTheError) {
  struct Case {
    int status;
    const char* body;
    bool bad, fault;
  };
  const Case cases[] = {
      {401, "{}", true, true},
      {403, "<html>", false, true},
      {400,
       R"({"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"@type":"t"},{"reason":"API_KEY_INVALID"}]}})",
       true, true},
      {400, R"([{"error":{"code":400,"details":[{"reason":"API_KEY_SERVICE_BLOCKED"}]}}])", false, true},
      {400, R"({"error":{"type":"invalid_request_error","code":"invalid_api_key"}})", true, true},
      {400, R"({"type":"error","error":{"type":"authentication_error"}})", true, true},
      {404, R"({"error":{"type":"permission_error"}})", false, true},
      {400, R"({"error":{"code":401,"message":"invalid_api_key"}})", false, false},
      {400, R"({"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***."})",
       true, true},
      {400, R"({"error":{"message":"Incorrect API key in your tool's arguments"}})", false, false},
      {500, R"({"error":{"code":"invalid_api_key"}})", false, false}};
  for (const Case& each : cases) {
    const base::Error error = error_of(each.status, {}, each.body);
    EXPECT_EQ(each.bad, is_bad_key(error)) << each.body;
    const bool refused = error.details == R"({"upstream_status":403})";
    EXPECT_EQ(each.fault, is_bad_key(error) || refused) << each.body;
    if (each.fault) {
      EXPECT_EQ(Code::kUpstream, error.code) << "is not the client's fault: " << each.body;
      EXPECT_NE(std::string::npos, error.message.find("answered " + std::to_string(each.status)));
    }
  }
}

TEST(UpstreamError, ARequestThatTheServerCannotServeIsARefusalAndNotItsFailure) {
  for (int status : {403, 405, 409, 410, 415, 424, 451, 501})
    EXPECT_TRUE(is_refusal(error_of(status))) << status;
  for (int status : {400, 401, 402, 404, 407, 408, 429, 500, 502, 503, 504, 529})
    EXPECT_FALSE(is_refusal(error_of(status))) << status;
}

TEST(UpstreamError, WhatNoRetryHelpsIsLasting) {
  for (int status : {401, 402, 403, 405, 415, 424, 451, 501})
    EXPECT_TRUE(error_of(status).is_permanent) << status;
  for (int status : {408, 409, 425, 429, 499, 500, 502, 503, 504, 529})
    EXPECT_FALSE(error_of(status).is_permanent) << status;
}

TEST(UpstreamError, AFieldThatHoldsTheKeyIsNotReported) {
  Target target = target_of("openai", "gpt-4o");
  target.key = base::Secret("Provider.Key.7c1f");
  EXPECT_EQ("", upstream_error(target, 400, {}, R"({"error":{"param":"keys.Provider.Key.7c1f"}})").param);
}

TEST(UpstreamError, ACauseThatClientsKnowKeepsItsCodeAndItsField) {
  const base::Error overflow = error_of(
      400, {}, R"({"error":{"message":"m","code":"context_length_exceeded","param":"messages[0].content"}})");
  EXPECT_EQ(Code::kContextLength, overflow.code);
  EXPECT_EQ("messages[0].content", overflow.param);
  EXPECT_EQ(Code::kContentPolicy, error_of(400, {}, R"({"error":{"code":"content_policy_violation"}})").code);
  EXPECT_EQ(Code::kContentFilter, error_of(400, {}, R"({"error":{"code":"content_filter"}})").code);
  const base::Error quota = error_of(429, {}, R"({"error":{"type":"insufficient_quota"}})");
  EXPECT_EQ(Code::kQuota, quota.code);
  EXPECT_TRUE(quota.is_permanent);
  EXPECT_EQ("temperature", error_of(400, {}, R"({"error":{"message":"m","param":"temperature"}})").param);
}

TEST(UpstreamError, ACauseThatDoesNotFitToItsStatusAndAFieldThatIsNoneAreNotPassedOn) {
  EXPECT_EQ(Code::kUpstream,
            error_of(500, {}, R"({"error":{"code":"context_length_exceeded","param":"x"}})").code);
  EXPECT_EQ("", error_of(500, {}, R"({"error":{"param":"x"}})").param);
  EXPECT_EQ(Code::kBadRequest, error_of(400, {}, R"({"error":{"code":"insufficient_quota"}})").code);
  EXPECT_EQ(Code::kBadRequest,
            error_of(400, {}, R"({"error":{"code":"server_error","param":"/etc/x y"}})").code);
  EXPECT_EQ("", error_of(400, {}, R"({"error":{"param":"/etc/x y"}})").param);
}

TEST(UpstreamError, AContextLengthErrorIsRecognisedForEachProvider) {
  const std::pair<const char*, const char*> words[] = {
      {"anthropic", "prompt is too long: 213462 tokens > 200000 maximum"},
      {"gemini", "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."},
      {"vllm", "This model's maximum context length is 4096 tokens."},
      {"llamacpp", "the request exceeds the available context size, try increasing it"},
      {"anthropic", "input length and `max_tokens` exceed context limit: 179413 + 32768 > 200000"},
      {"xai", "This model's maximum prompt length is 131072 but the request contains 200000 tokens."},
      {"groq", "Please reduce the length of the messages or completion."},
      {"openai", "The input (123 tokens) is longer than the model's context length (100 tokens)."},
      {"vllm", "You passed 5000 input tokens. However, the model's context length is only 4096 tokens"},
      {"vllm", "The decoder prompt (length 5000) is longer than the maximum model length of 4096."},
      {"openai", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097."},
      {"openrouter", "Input is too long for requested model."}};
  for (const auto& [provider, sent] : words) {
    const std::string body = R"({"error":{"message":")" + std::string(sent) + R"("}})";
    const Target target = target_of(provider, "m");
    EXPECT_EQ(Code::kContextLength, upstream_error(target, 400, {}, body).code) << sent;
    EXPECT_EQ(Code::kOverloaded, upstream_error(target, 503, {}, body).code) << sent;
  }
}

TEST(UpstreamError, WhatAProviderSaysInWordsCounts) {
  const auto of = [](const char* provider, int status, const char* body) {
    return upstream_error(target_of(provider, "m"), status, {}, body);
  };
  const base::Error poor =
      of("anthropic", 400,
         R"({"error":{"type":"invalid_request_error","message":"Your credit balance is too low to"}})");
  EXPECT_EQ(error_of(402).code, poor.code);
  EXPECT_TRUE(poor.is_permanent && !is_refusal(poor));
  EXPECT_TRUE(is_refusal(
      of("gemini", 400, R"({"error":{"message":"User location is not supported for the API use."}})")));
  const base::Error flagged = of(
      "openrouter", 403, R"({"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"]}}})");
  EXPECT_EQ(Code::kContentPolicy, flagged.code);
  EXPECT_EQ("openrouter/m answered 403: flagged", flagged.message);
  EXPECT_EQ(Code::kOverloaded,
            of("groq", 498, R"({"error":{"message":"Flex tier capacity exceeded"}})").code);
}

TEST(UpstreamError, ARequestAboveTheTokensOfAMinuteIsLeftForAFallback) {
  const char* body = R"({"error":{"message":"Request too large for model `m` on tokens per minute",)"
                     R"("type":"tokens","code":"rate_limit_exceeded"}})";
  for (const int status : {413, 429}) {
    const base::Error error = upstream_error(target_of("groq", "m"), status, {}, body);
    EXPECT_EQ(Code::kRateLimited, error.code) << status;
    EXPECT_TRUE(error.is_permanent) << status;
  }
  EXPECT_FALSE(error_of(429, {}, R"({"error":{"message":"Rate limit reached"}})").is_permanent);
}

TEST(UpstreamError, AFailedGenerationIsAFaultOfTheAnswer) {
  for (const char* code : {"tool_use_failed", "json_validate_failed"}) {
    const std::string body = R"({"error":{"message":"m","code":")" + std::string(code) + "\"}}";
    const base::Error error = upstream_error(target_of("groq", "m"), 400, {}, body);
    EXPECT_EQ(Code::kUpstream, error.code);
    EXPECT_TRUE(error.is_content_fault && error.is_free);
    EXPECT_FALSE(error.is_permanent || is_refusal(error));
  }
}

TEST(UpstreamError, TheMessageNamesTheProviderAndQuotesIt) {
  const std::string message = error_of(400, {}, R"({"error":{"message":"bad tool","type":"x"}})").message;
  EXPECT_EQ("openai/gpt-4o answered 400: bad tool", message);
}

TEST(UpstreamError, ItsMessageIsFoundInEveryForm) {
  const Translation& openai = translation(Family::kOpenai);
  EXPECT_EQ("a", openai.error_message(R"({"error":"a"})"));
  EXPECT_EQ("a", openai.error_message(R"({"error":{"message":"a"}})"));
  EXPECT_EQ("a", openai.error_message(R"({"object":"error","message":"a"})"));
  EXPECT_EQ("a", openai.error_message(R"({"detail":"a"})"));
  EXPECT_EQ("a", openai.error_message(R"({"detail":[{"loc":["body"],"msg":"a"}]})"));
  EXPECT_EQ("a", openai.error_message(R"({"message":{"detail":[{"msg":"a"}]}})"));
  EXPECT_EQ("a: b", openai.error_message(R"x({"error":{"message":"a","metadata":{"raw":"b"}}})x"));
  for (const char* body : {"", "<html>", "[]", "{}", R"({"error":null})", R"({"error":7})"})
    EXPECT_EQ("", openai.error_message(body)) << body;
}

TEST(UpstreamError, AWaitIsReadFromHeadersAndBody) {
  EXPECT_EQ(milliseconds(250), error_of(429, {{"retry-after-ms", "250"}, {"retry-after", "9"}}).retry_after);
  EXPECT_EQ(milliseconds(9'000), error_of(429, {{"retry-after", "9"}}).retry_after);
  EXPECT_EQ(milliseconds(7'000), error_of(429, {}, "Please retry after 7 seconds.").retry_after);
  EXPECT_EQ(milliseconds(60), error_of(429, {}, "Please retry after 60 milliseconds.").retry_after);
  EXPECT_EQ(milliseconds(3'600'000),
            error_of(503, {{"retry-after", "Fri, 31 Dec 2999 23:59:59 GMT"}}).retry_after);
  EXPECT_EQ(milliseconds(0), error_of(429, {{"retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"}}).retry_after);
  EXPECT_EQ(milliseconds(1'500),
            error_of(429, {}, R"({"error":{"message":"try again in 1.5s."}})").retry_after);
  EXPECT_EQ(milliseconds(361'250), error_of(429, {}, "try again in 6m1s250ms").retry_after);
  EXPECT_EQ(milliseconds(32'000),
            error_of(429, {}, R"({"error":{"details":[{"retryDelay":"32s"}]}})").retry_after);
  EXPECT_EQ(milliseconds(0), error_of(429, {{"retry-after", "-3"}}).retry_after);
  EXPECT_EQ(milliseconds(0), error_of(400, {{"retry-after", "3"}}).retry_after);
}

TEST(UpstreamError, AWaitThatIsNoNumberIsNone) {
  for (const char* sent :
       {"nans", "nanms", "1snans", "-nans", "-5s", "infs", "-infs", "infinitym", "1e999s", ""}) {
    const milliseconds wait = error_of(429, {}, std::string("try again in ") + sent).retry_after;
    EXPECT_EQ(milliseconds(sent[0] == '1' && sent[1] == 's' ? 1'000 : 0), wait) << sent;
  }
  for (const char* sent : {"nan", "inf", "-nan", "-inf", "-1e-300"}) {
    EXPECT_EQ(milliseconds(0), error_of(429, {{"retry-after", sent}}).retry_after) << sent;
    EXPECT_EQ(milliseconds(0), error_of(429, {{"retry-after-ms", sent}}).retry_after) << sent;
  }
}

TEST(UpstreamError, AWaitHasABound) {
  EXPECT_EQ(milliseconds(3'600'000), error_of(429, {}, "try again in 1e308h1e308h").retry_after);
  EXPECT_EQ(milliseconds(3'600'000), error_of(429, {{"retry-after", "1e308"}}).retry_after);
}

TEST(UpstreamError, NoKeyIsRepeated) {
  for (const char* key : {"sk-test-0123456789abcdef", "sk-proj-abc***wxyz", "gsk_aB3dE6gH9", "xai-0a1b2c3d4e",
                          "AIzaSyA1b2C3d4E5f6", "0123456789abcdef0123456789abcdef"}) {
    const std::string body =
        R"({"error":{"message":"Incorrect API key provided: )" + std::string(key) + R"(."}})";
    const std::string message = error_of(401, {}, body).message;
    EXPECT_EQ(std::string::npos, message.find(key)) << message;
    EXPECT_NE(std::string::npos, message.find("Incorrect API key provided: ***")) << message;
  }
}

TEST(UpstreamError, TheTargetsOwnKeyIsNeverRepeatedWhateverItLooksLike) {
  Target target = target_of("vllm", "m");
  target.key = base::Secret("hunter");
  EXPECT_EQ(std::string::npos,
            upstream_error(target, 401, {}, R"({"error":"no: hunterhunter"})").message.find("hunter"));
}

TEST(UpstreamError, ValuesOfTheOperatorsHeadersAreNotRepeated) {
  Target target = target_of("vllm", "m");
  target.headers = {{"X-Door", "open sesame"}, {"Authorization", "Basic hunter2"}, {"X-Level", "1"}};
  const std::string body = R"({"error":"no: open sesame, hunter2, 1, Basic hunter2"})";
  EXPECT_EQ("vllm/m answered 400: no: ***, ***, 1, ***", upstream_error(target, 400, {}, body).message);
  EXPECT_EQ("vllm/m failed during its answer: ***", stream_error(target, 0, "open sesame").message);
}

TEST(UpstreamError, OrdinaryWordsAreLeftAsTheyAre) {
  const std::string words =
      "The model 'meta-llama/llama-4-maverick-17b-128e-instruct' is down (task-force 7).";
  EXPECT_EQ(words, upstream_text(words));
}

TEST(UpstreamError, TheQueriesOfUrlsAreMasked) {
  EXPECT_EQ("cannot load 'https://a.example/b.png?***': 403",
            upstream_text("cannot load 'https://a.example/b.png?sig=swordfish&x=1#top': 403"));
  EXPECT_EQ(R"({"url":"https://a.example/b#***"} ok?)",
            upstream_text(R"({"url":"https://a.example/b#t?o"} ok?)"));
  EXPECT_EQ("why? #1 https://a.example", upstream_text("why? #1 https://a.example"));
}

TEST(UpstreamError, LongAndWildTextIsCutToOneLine) {
  EXPECT_EQ("a b", upstream_text("a\r\n\tb\n"));
  std::string umlauts;
  for (int i = 0; i < 3000; ++i) umlauts += "ü";
  EXPECT_EQ(kUpstreamTextMax, upstream_text(umlauts).size());
  EXPECT_EQ(kUpstreamTextMax - 1, upstream_text("x" + umlauts).size());
}

}  // namespace
}  // namespace millrace::providers::upstream_error_test
