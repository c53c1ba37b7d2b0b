#include <string>

#include <gtest/gtest.h>

#include "ai/providers/tool_request.h"
#include "tests/support/cpu_time.h"
#include "tests/unit/providers/family_cases.h"

// Requests that are made to harm, with as many values as a body may have: each is translated in little time.
namespace millrace::providers::hostile_requests_test {
namespace {

using schemas::Json;
using support::cpu_seconds;
using testing::target_of;

constexpr double kSecondsMax = 1;  // of the processor, for one provider

void translate_in_time(const char* provider, const Json& body, double seconds_max = kSecondsMax) {
  const Target target = target_of(provider, "m");
  const schemas::ChatRequest request = testing::request_of(body);
  const auto translate = [&] {
    EXPECT_TRUE(translation(target.preset->family).chat_request(target, request, false)) << provider;
  };
  EXPECT_LT(cpu_seconds(translate), seconds_max) << provider;
}

Json tool(const std::string& name, Json parameters = Json::object()) {
  return {{"type", "function"}, {"function", {{"name", name}, {"parameters", std::move(parameters)}}}};
}

Json user() { return {{"role", "user"}, {"content", "x"}}; }

TEST(HostileRequests, ManyToolResultsOfOneTurnAreOrderedInLittleTime) {
  constexpr int kCalls = 12'000;
  Json calls = Json::array(), messages = Json::array({user()});
  for (int i = 0; i < kCalls; ++i)
    calls.push_back({{"id", std::to_string(i)}, {"function", {{"name", "f"}, {"arguments", "{}"}}}});
  messages.push_back({{"role", "assistant"}, {"tool_calls", std::move(calls)}});
  for (int i = 0; i < kCalls; ++i) {
    if (i % 2 == 0) messages.push_back(user());
    messages.push_back({{"role", "tool"}, {"tool_call_id", std::to_string(i)}, {"content", "1"}});
  }
  for (const char* provider : {"anthropic", "gemini"}) translate_in_time(provider, {{"messages", messages}});
}

TEST(HostileRequests, ManyAllowedToolsAreChosenInLittleTime) {
  constexpr int kTools = 12'000;
  const std::string begin(50, 'x');
  Json tools = Json::array(), allowed = Json::array();
  for (int i = 0; i < kTools; ++i) tools.push_back(tool(begin + std::to_string(100'000 + i)));
  for (int i = kTools; i-- > 0;) allowed.push_back(tool(begin + std::to_string(100'000 + i)));
  const Json choice = {{"type", "allowed_tools"},
                       {"allowed_tools", {{"mode", "auto"}, {"tools", std::move(allowed)}}}};
  const auto read = [&] { EXPECT_EQ(read_tools(&tools, &choice).tools.size(), std::size_t{kTools}); };
  EXPECT_LT(cpu_seconds(read), 2);
}

// Its member has no name that providers accept. Each value is compared with each alternative.
Json schema_with_alternatives(int count) {
  Json parts = Json::array();
  for (int i = 0; i < count; ++i) parts.push_back({{"required", Json::array({"r" + std::to_string(i)})}});
  return {{"properties", {{"größe", {{"type", "string"}}}}}, {"anyOf", std::move(parts)}};
}

TEST(HostileRequests, ManyValuesWithFittedMembersAreRenamedInLittleTime) {
  Json schema = schema_with_alternatives(10'000);
  for (int i = 0; i < 3'000; ++i) schema["examples"].push_back({{"größe", i}});
  for (const char* provider : {"anthropic", "gemini"}) {
    translate_in_time(provider, {{"messages", Json::array({user()})}, {"tools", {tool("f", schema)}}}, 3);
  }
}

TEST(HostileRequests, ManyCallsWithFittedMembersAreRenamedInLittleTime) {
  Json calls = Json::array();
  for (int i = 0; i < 3'000; ++i) {
    calls.push_back(
        {{"id", std::to_string(i)}, {"function", {{"name", "f"}, {"arguments", R"({"größe":"x"})"}}}});
  }
  const Json messages = Json::array({user(), {{"role", "assistant"}, {"tool_calls", std::move(calls)}}});
  for (const char* provider : {"anthropic", "gemini"}) {
    translate_in_time(provider,
                      {{"messages", messages}, {"tools", {tool("f", schema_with_alternatives(10'000))}}}, 3);
  }
}

TEST(HostileRequests, ManyPatternsOfMembersAreFollowedInLittleTime) {
  Json schema = {{"properties", {{"größe", {{"type", "string"}}}}}}, value = Json::object();
  for (int i = 0; i < 10'000; ++i) {
    schema["patternProperties"]["^p" + std::to_string(i)] = Json::object();
    value["m" + std::to_string(i)] = 1;
  }
  schema["default"] = std::move(value);
  for (const char* provider : {"anthropic", "gemini"}) {
    translate_in_time(provider, {{"messages", Json::array({user()})}, {"tools", {tool("f", schema)}}}, 2);
  }
}

// Each comparison reads both values to their ends.
TEST(HostileRequests, ManyComparisonsOfALargeValueAreMadeInLittleTime) {
  Json large = Json::array(), parts = Json::array();
  for (int i = 0; i < 100'000; ++i) large.push_back(0);
  large = Json::array({std::move(large)});
  for (int i = 0; i < 4'000; ++i) parts.push_back({{"$ref", "#/$defs/c"}, {"title", std::to_string(i)}});
  Json schema = {{"properties", {{"größe", {{"type", "string"}}}, {"v", {{"anyOf", parts}}}}},
                 {"$defs", {{"c", {{"const", large}, {"required", {"a"}}}}}}};
  schema["default"] = {{"größe", "x"}, {"v", std::move(large)}};
  for (const char* provider : {"anthropic", "gemini"}) {
    translate_in_time(provider, {{"messages", Json::array({user()})}, {"tools", {tool("f", schema)}}}, 3);
  }
}

}  // namespace
}  // namespace millrace::providers::hostile_requests_test
