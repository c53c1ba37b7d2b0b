#include <string>

#include <gtest/gtest.h>

#include "schemas/chat/chat_request.h"
#include "tests/support/cpu_time.h"

// Bodies that are made to harm, with as many values as they may have: each is read in little time.
namespace millrace::schemas::hostile_requests_test {
namespace {

constexpr double kSecondsMax = 0.5;  // of the processor

void parse_in_time(const Json& body) {
  std::string text = body.dump();
  const auto parse = [&] {
    const auto request = parse_chat_request(text);
    EXPECT_TRUE(request) << request.error().error.message;
  };
  EXPECT_LT(support::cpu_seconds(parse), kSecondsMax);
}

// Names of one length that differ only at the end.
std::string name_of(int number) { return std::string(50, 'x') + std::to_string(100'000 + number); }

TEST(HostileChatRequests, ManyAllowedToolsAreFoundInLittleTime) {
  constexpr int kTools = 12'000;
  Json tools = Json::array(), allowed = Json::array();
  const auto tool = [](int i) -> Json {
    return {{"type", "function"}, {"function", {{"name", name_of(i)}}}};
  };
  for (int i = 0; i < kTools; ++i) tools.push_back(tool(i));
  for (int i = 0; i < kTools; ++i) allowed.push_back(tool(kTools - 1));
  parse_in_time(
      {{"model", "a/m"},
       {"messages", "hi"},
       {"tools", std::move(tools)},
       {"tool_choice",
        {{"type", "allowed_tools"}, {"allowed_tools", {{"mode", "auto"}, {"tools", std::move(allowed)}}}}}});
}

TEST(HostileChatRequests, ManyResultsOfFunctionCallsAreFoundInLittleTime) {
  constexpr int kCalls = 9'000;
  Json messages = Json::array();
  for (int i = 0; i < kCalls; ++i) {
    messages.push_back(
        {{"role", "assistant"}, {"function_call", {{"name", name_of(i)}, {"arguments", "{}"}}}});
  }
  for (int i = 0; i < kCalls; ++i)
    messages.push_back({{"role", "function"}, {"name", name_of(kCalls - 1)}, {"content", "1"}});
  parse_in_time({{"model", "a/m"}, {"messages", std::move(messages)}});
}

}  // namespace
}  // namespace millrace::schemas::hostile_requests_test
