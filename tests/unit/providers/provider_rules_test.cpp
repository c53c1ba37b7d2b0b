#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/base/base64.h"
#include "tests/unit/providers/family_cases.h"

// Forms that some providers refuse, although clients may send them: what each provider gets instead.
namespace millrace::providers::provider_rules_test {
namespace {

using schemas::Json;
using testing::dropped_of;
using testing::refused;
using testing::sent_of;
using testing::target_of;

const Target kMistral = target_of("mistral", "mistral-large");
const Target kOpenai = target_of("openai", "gpt-4o");
const Target kClaude = target_of("anthropic", "claude-sonnet-4-5");
const Target kGemini = target_of("gemini", "gemini-2.5-flash");

std::vector<std::string> roles_of(const Json& messages) {
  std::vector<std::string> roles;
  for (const Json& message : messages) roles.push_back(message["role"]);
  return roles;
}

// --- The order of messages ---

constexpr std::string_view kUserAfterResult = R"({"messages":[{"role":"user","content":"u"},
    {"role":"assistant","tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"f",
     "arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":"r"},
    {"role":"user","content":"v"}]})";

TEST(MessageOrder, MistralGetsAnAnswerBetweenAResultAndAUser) {
  const Json messages = sent_of(kMistral, kUserAfterResult)["messages"];
  EXPECT_EQ(roles_of(messages), (std::vector<std::string>{"user", "assistant", "tool", "assistant", "user"}));
  EXPECT_EQ(messages[3]["content"], "OK.");
  EXPECT_EQ(sent_of(kOpenai, kUserAfterResult)["messages"].size(), 4U);
}

constexpr std::string_view kBegun =
    R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"The answer is "}]})";

TEST(MessageOrder, ForMistralTheBeginningOfTheAnswerIsAPrefix) {
  EXPECT_EQ(sent_of(kMistral, kBegun)["messages"][1]["prefix"], true);
  const Json own = sent_of(kMistral, R"({"messages":[{"role":"user","content":"u"},
      {"role":"assistant","content":"a","prefix":false}]})");
  EXPECT_EQ(own["messages"][1]["prefix"], false) << "the client's own value stays";
  EXPECT_FALSE(sent_of(kMistral, kUserAfterResult)["messages"][1].contains("prefix"));
  EXPECT_FALSE(sent_of(kOpenai, kBegun)["messages"][1].contains("prefix"));
}

TEST(MessageOrder, ClaudeModelsWithoutPrefillGetARequestToContinue) {
  for (const char* model : {"claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-7", "claude-sonnet-5"}) {
    const Target target = target_of("anthropic", model);
    const Json messages = sent_of(target, kBegun)["messages"];
    EXPECT_EQ(roles_of(messages), (std::vector<std::string>{"user", "assistant", "user"})) << model;
    EXPECT_EQ(messages[2]["content"][0]["text"], "Continue.");
    EXPECT_EQ(dropped_of(target, kBegun), "messages;clamped");
  }
  for (const char* model : {"claude-opus-4-5", "claude-3-haiku", "claude-sonnet-4-20250514"}) {
    const Target target = target_of("anthropic", model);
    EXPECT_EQ(sent_of(target, kBegun)["messages"].size(), 2U) << model;
    EXPECT_EQ(dropped_of(target, kBegun), "");
  }
}

TEST(MessageOrder, APausedTurnOfClaudeGoesBackAsItIs) {
  schemas::ChatRequest request =
      testing::request_of(Json::parse(R"({"messages":[{"role":"user","content":"u"}]})"));
  schemas::ChatChoice paused;
  paused.reasoning_state = R"({"provider":"anthropic","blocks":[{"type":"text","text":"I search."}]})";
  schemas::append_turn(request, paused, {});
  const auto wire =
      translation(Family::kAnthropic).chat_request(target_of("anthropic", "claude-opus-4-6"), request, false);
  ASSERT_TRUE(wire.has_value());
  EXPECT_LE(Json::parse(wire->body)["messages"].size(), 2U);
}

TEST(MessageOrder, ASystemMessageThatMovesToTheTopIsReported) {
  const std::string_view moved =
      R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},
      {"role":"developer","content":"d"},{"role":"user","content":"v"}]})";
  const std::string_view first =
      R"({"messages":[{"role":"system","content":"s"},{"role":"developer","content":"d"},
      {"role":"user","content":"u"}]})";
  for (const Target& target : {kClaude, kGemini}) {
    EXPECT_EQ(dropped_of(target, moved), "messages.system;clamped") << target.name;
    EXPECT_EQ(dropped_of(target, first), "") << target.name;
  }
  EXPECT_EQ(dropped_of(kOpenai, moved), "");
}

TEST(MessageOrder, MistralGetsSystemMessagesAtTheBeginningAndBehindUsersAlone) {
  const auto conversation = [](const std::vector<std::string>& roles) {
    Json messages = Json::array();
    for (const std::string& role : roles) {
      Json message = {{"role", role}, {"content", std::to_string(messages.size())}};
      if (role == "tool") message["tool_call_id"] = "abcdefghi";
      messages.push_back(std::move(message));
    }
    return Json{{"messages", std::move(messages)}}.dump();
  };
  const auto contents_of = [](const Json& messages) {
    std::string text;
    for (const Json& message : messages) text += message["content"].get<std::string>();
    return text;
  };
  struct Case {
    std::vector<std::string> roles;
    std::string expected;
  };
  for (const Case& each :
       std::vector<Case>{{{"system", "user", "assistant", "system", "user"}, "03124"},
                         {{"user", "assistant", "developer", "system", "user"}, "23014"},
                         {{"system", "user", "assistant", "tool", "system", "assistant", "user"}, "0412356"},
                         {{"user", "assistant", "user", "system"}, "3012"},
                         {{"user", "system", "system"}, "120"},
                         {{"user", "assistant", "tool", "system", "user"}, "3012OK.4"}}) {
    const std::string body = conversation(each.roles);
    EXPECT_EQ(contents_of(sent_of(kMistral, body)["messages"]), each.expected);
    EXPECT_EQ(dropped_of(kMistral, body), "messages.system;clamped") << each.expected;
    EXPECT_EQ(dropped_of(kOpenai, body), "");
  }
  for (const std::vector<std::string>& roles :
       std::vector<std::vector<std::string>>{{"system", "system", "user"},
                                             {"user", "system", "user"},
                                             {"user", "system", "assistant", "user"}}) {
    const std::string body = conversation(roles);
    EXPECT_EQ(roles_of(sent_of(kMistral, body)["messages"]), roles);
    EXPECT_EQ(dropped_of(kMistral, body), "");
  }
}

TEST(MessageOrder, AnAnswerWithoutAnythingIsLeftOut) {
  const std::string_view body =
      R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":null,"reasoning":"r"},
      {"role":"assistant","content":"a","tool_calls":[]},{"role":"user","content":"v"},
      {"role":"assistant","content":null},{"role":"user","content":"w"}]})";
  const std::vector<std::string> rest = {"user", "assistant", "user", "user"};
  const Target groq = target_of("groq", "llama-3.3-70b-versatile");
  for (const Target& target : {kOpenai, groq, target_of("xai", "grok-4")})
    EXPECT_EQ(rest, roles_of(sent_of(target, body)["messages"])) << target.name;
  const std::string_view empty = R"({"messages":[{"role":"user","content":"u"},
      {"role":"assistant","content":""},{"role":"user","content":"w"}]})";
  EXPECT_EQ((std::vector<std::string>{"user", "user"}), roles_of(sent_of(kMistral, empty)["messages"]));
  EXPECT_EQ(3U, sent_of(target_of("vllm", "m"), empty)["messages"].size());
}

TEST(MessageOrder, SystemMessagesAloneBecomeTheUsersAndAreReported) {
  const std::string_view body =
      R"({"messages":[{"role":"system","content":"s"},{"role":"developer","content":"d"}]})";
  const std::string_view one = R"({"messages":[{"role":"system","content":"s"}]})";
  EXPECT_EQ(Json::parse(R"([{"role":"system","content":"s"},{"role":"user","content":"d"}])"),
            sent_of(kMistral, body)["messages"]);
  EXPECT_EQ(Json::parse(R"([{"role":"user","content":"s"}])"), sent_of(kMistral, one)["messages"]);
  EXPECT_EQ(std::vector<std::string>{"user"}, roles_of(sent_of(kClaude, body)["messages"]));
  EXPECT_EQ(std::vector<std::string>{"user"}, roles_of(sent_of(kGemini, body)["contents"]));
  for (const Target& target : {kMistral, kClaude, kGemini}) {
    EXPECT_EQ(dropped_of(target, body), "messages.system;clamped") << target.name;
    EXPECT_EQ(dropped_of(target, one), "messages.system;clamped") << target.name;
  }
  EXPECT_EQ(dropped_of(kOpenai, body), "");
}

TEST(MessageOrder, TheRoleDeveloperIsSystemForLocalServers) {
  const std::string text =
      R"({"messages":[{"role":"developer","content":"d"},{"role":"user","content":"u"}]})";
  const Target own_server = target_of("openai", "m", "http://127.0.0.1:9/v1");
  for (const Target& target : {target_of("ollama", "m"), target_of("vllm", "m"), target_of("llamacpp", "m"),
                               target_of("openrouter", "m"), kMistral, own_server}) {
    EXPECT_EQ(sent_of(target, text)["messages"][0]["role"], "system") << target.name;
    EXPECT_EQ(dropped_of(target, text), "");
    std::string whole = R"({"model":"x",)" + text.substr(1);
    auto quick = schemas::read_chat_request(whole);
    ASSERT_TRUE(quick.has_value());
    const auto wire = translation(Family::kOpenai).chat_request(target, *quick, true);
    ASSERT_TRUE(wire.has_value());
    EXPECT_EQ(Json::parse(wire->body)["messages"][0]["role"], "system") << target.name << " unparsed";
  }
  EXPECT_EQ(sent_of(kOpenai, text)["messages"][0]["role"], "developer");
}

// --- Files ---

std::string with_file(const Json& file) {
  return Json{{"messages", {{{"role", "user"}, {"content", {{{"type", "file"}, {"file", file}}}}}}}}.dump();
}

TEST(Files, MistralGetsItsOwnParts) {
  const auto part = [](const Json& file) {
    return sent_of(kMistral, with_file(file))["messages"][0]["content"][0];
  };
  EXPECT_EQ(part({{"file_id", "id"}, {"filename", "a.pdf"}}), Json({{"type", "file"}, {"file_id", "id"}}));
  const std::string uri = "data:application/pdf;base64,JVBERi0xLjQ=";
  EXPECT_EQ(part({{"file_data", uri}, {"filename", "a.pdf"}}),
            Json({{"type", "document_url"}, {"document_url", uri}, {"document_name", "a.pdf"}}));
  EXPECT_EQ(part({{"file_data", "JVBERi0xLjQ="}}), Json({{"type", "document_url"}, {"document_url", uri}}));
}

TEST(Files, OpenaiAndAzureGetADataUriAndAName) {
  const std::string uri = "data:application/pdf;base64,JVBERi0xLjQ=";
  const Json whole = {{"file_data", uri}, {"filename", "a.pdf"}},
             named = {{"file_data", uri}, {"filename", "document.pdf"}};
  const std::vector<std::pair<Json, Json>> cases = {
      {whole, whole},
      {{{"file_data", "JVBERi0xLjQ="}, {"filename", "a.pdf"}}, whole},
      {{{"file_data", uri}}, named},
      {{{"file_data", "JVBERi0xLjQ="}}, named},
      {{{"file_data", uri}, {"filename", ""}}, named},
      {{{"file_data", "data:text/csv;base64,QUJD"}},
       {{"file_data", "data:text/csv;base64,QUJD"}, {"filename", "document.csv"}}},
      {{{"file_id", "file-1"}}, {{"file_id", "file-1"}}},
  };
  for (const Target& target : {kOpenai, target_of("azure", "gpt-4o", "http://x")}) {
    for (const auto& [given, expected] : cases) {
      EXPECT_EQ(sent_of(target, with_file(given))["messages"][0]["content"][0]["file"], expected) << given;
      EXPECT_EQ(dropped_of(target, with_file(given)), "");
    }
  }
  const Target own = target_of("openai", "m", "https://inference.example/v1");
  EXPECT_EQ(sent_of(own, with_file(cases[3].first))["messages"][0]["content"][0]["file"], cases[3].first)
      << "a server of one's own decides itself";
}

TEST(Files, ByUrlGoToTheProvidersThatFetchThem) {
  const std::string url = "https://example.com/a.pdf";
  for (const Json& file : {Json{{"file_url", url}}, Json{{"file_data", url}}}) {
    const std::string body = with_file(file);
    EXPECT_EQ(sent_of(kClaude, body)["messages"][0]["content"][0]["source"],
              Json({{"type", "url"}, {"url", url}}));
    EXPECT_EQ(sent_of(kGemini, body)["contents"][0]["parts"][0]["fileData"]["fileUri"], url);
    EXPECT_EQ(sent_of(kMistral, body)["messages"][0]["content"][0]["document_url"], url);
    EXPECT_EQ(sent_of(target_of("vllm", "m"), body)["messages"][0]["content"][0]["file"], file);
    for (const Target& target : {kOpenai, target_of("azure", "gpt-4o", "http://x"),
                                 target_of("xai", "grok-4"), target_of("groq", "m")}) {
      const base::Error error = refused(target, body);
      EXPECT_EQ(error.code, base::Code::kInvalidField) << target.name;
      EXPECT_EQ(error.param, "messages.0.content.0");
      EXPECT_NE(error.message.find("does not take files by URL"), std::string::npos) << error.message;
    }
  }
  const std::string both = with_file({{"file_url", url}, {"file_id", "file-1"}});
  EXPECT_EQ(sent_of(kOpenai, both)["messages"][0]["content"][0]["file"], Json({{"file_id", "file-1"}}));
  EXPECT_EQ(dropped_of(kOpenai, both), "messages.file_url");
}

base::Result<WireRequest> with_text_file(const std::string& bytes, const std::string& parameters) {
  const std::string uri = "data:text/csv" + parameters + ";base64," + base::base64_encode(bytes);
  return testing::translated(kClaude, with_file({{"file_data", uri}, {"filename", "a.csv"}}));
}

TEST(Files, TextsForClaudeAreConvertedToUtf8) {
  const std::string german = "Straße;Müller 😀";
  const std::string little("S\0\xDF\0\x3D\xD8\x00\xDE", 8), big("\0S\0\xDF\xD8\x3D\xDE\x00", 8);
  const std::vector<std::pair<std::string, std::pair<std::string, std::string>>> cases = {
      {german, {"", german}},
      {german, {";charset=utf-8", german}},
      {"\xEF\xBB\xBF" + german, {"", german}},
      {"\xFF\xFE" + little, {"", "Sß😀"}},
      {"\xFE\xFF" + big, {";charset=utf-16", "Sß😀"}},
      {little, {";charset=UTF-16LE", "Sß😀"}},
      {"Stra\xDF"
       "e \x80",
       {";charset=ISO-8859-1", "Straße €"}},
      {"M\xFCller", {";header=present;charset=\"windows-1252\"", "Müller"}},
  };
  for (const auto& [bytes, expected] : cases) {
    const auto wire = with_text_file(bytes, expected.first);
    ASSERT_TRUE(wire.has_value()) << expected.first << wire.error().message;
    EXPECT_EQ(Json::parse(wire->body)["messages"][0]["content"][0]["source"]["data"], expected.second)
        << expected.first;
  }
}

TEST(Files, ATextInAnUnknownCharsetIsRefusedByItsName) {
  for (const auto& [bytes, parameters] :
       std::vector<std::pair<std::string, std::string>>{{"Stra\xDF"
                                                         "e",
                                                         ""},
                                                        {"\xFF\xFEx", ""},
                                                        {std::string("\xFF\xFE\x3D\xD8", 4), ""},
                                                        {"x", ";charset=ebcdic"}}) {
    const auto wire = with_text_file(bytes, parameters);
    ASSERT_FALSE(wire.has_value()) << parameters;
    EXPECT_EQ(wire.error().code, base::Code::kBadRequest);
    EXPECT_NE(wire.error().message.find("'a.csv'"), std::string::npos) << wire.error().message;
  }
}

// --- Tools ---

std::string with_tools(std::size_t count) {
  Json tools = Json::array();
  for (std::size_t i = 0; i < count; ++i)
    tools.push_back({{"type", "function"}, {"function", {{"name", "f" + std::to_string(i)}}}});
  return Json{{"tools", std::move(tools)}}.dump();
}

TEST(Tools, MoreThanAProviderTakesAreRefusedWithItsBound) {
  const std::vector<std::pair<Target, std::size_t>> bounds = {{kOpenai, 128},
                                                              {target_of("azure", "gpt-4o", "http://x"), 128},
                                                              {target_of("groq", "m"), 128},
                                                              {target_of("xai", "grok-4"), 200}};
  for (const auto& [target, most] : bounds) {
    EXPECT_TRUE(testing::translated(target, with_tools(most)).has_value()) << target.name;
    const base::Error error = refused(target, with_tools(most + 1));
    EXPECT_EQ(error.code, base::Code::kBadRequest) << target.name;
    for (const std::string& shown : {std::string(target.preset->name), std::to_string(most)})
      EXPECT_NE(error.message.find(shown), std::string::npos) << error.message;
  }
  for (const Target& target : {kClaude, kGemini, kMistral, target_of("vllm", "m"),
                               target_of("openai", "m", "http://127.0.0.1:9/v1")})
    EXPECT_TRUE(testing::translated(target, with_tools(201)).has_value()) << target.name;
}

TEST(Tools, TheOldFormRequestsOneCall) {
  const auto sent_by_old_client = [](const Target& target, const std::string& more = {}) {
    std::string body = R"({"model":"x","messages":"hi","functions":[{"name":"f"}])" + more + "}";
    auto request = schemas::parse_chat_request(body);
    EXPECT_TRUE(request.has_value());
    auto wire = translation(target.preset->family).chat_request(target, *request, false);
    EXPECT_TRUE(wire.has_value());
    EXPECT_EQ(schemas::dropped_text(wire->dropped), "") << target.name;
    return Json::parse(wire->body);
  };
  for (const Target& target : {kOpenai, kMistral, target_of("groq", "m"), target_of("vllm", "m")})
    EXPECT_EQ(sent_by_old_client(target)["parallel_tool_calls"], false) << target.name;
  EXPECT_EQ(sent_by_old_client(kClaude)["tool_choice"],
            Json({{"type", "auto"}, {"disable_parallel_tool_use", true}}));
  EXPECT_EQ(sent_by_old_client(kOpenai, R"(,"parallel_tool_calls":true)")["parallel_tool_calls"], true);
  for (const Target& target : {kGemini, target_of("ollama", "m"), target_of("openai", "o3")})
    EXPECT_FALSE(sent_by_old_client(target).contains("parallel_tool_calls")) << target.name;
  EXPECT_FALSE(sent_of(kOpenai, with_tools(1)).contains("parallel_tool_calls")) << "only in the old form";
}

TEST(Tools, AMapThatGeminiCannotExpressIsReported) {
  const auto reported = [](const char* schema) {
    const Json function = {{"name", "f"}, {"parameters", Json::parse(schema)}};
    return dropped_of(kGemini, Json{{"tools", {{{"type", "function"}, {"function", function}}}}}.dump());
  };
  for (const char* map :
       {R"({"type":"object","additionalProperties":{"type":"string"}})",
        R"({"type":"object","additionalProperties":true})",
        R"({"type":"object","patternProperties":{"^x":{"type":"string"}}})",
        R"({"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"number"}}}})",
        R"({"type":"object","properties":{"l":{"type":"array","items":{"type":"object",
            "additionalProperties":true}}}})"})
    EXPECT_EQ(reported(map), "tools;clamped") << map;
  for (
      const char* plain :
      {R"({"type":"object","properties":{}})",
       R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false})",
       R"({"type":"object","properties":{"additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}})"})
    EXPECT_EQ(reported(plain), "") << plain;
}

TEST(Tools, ArgumentsInPartsAreNotRequestedOfGemini) {
  const std::string_view body = R"({"tools":[{"type":"function","function":{"name":"f"}}],"tool_config":
      {"function_calling_config":{"mode":"AUTO","stream_function_call_arguments":true}}})";
  EXPECT_EQ(sent_of(kGemini, body)["toolConfig"]["functionCallingConfig"], Json({{"mode", "AUTO"}}));
  EXPECT_EQ(dropped_of(kGemini, body), "tool_config;clamped");
}

TEST(Tools, AnEmptyMemberNameIsRenamedForClaude) {
  const std::string_view body = R"({"tools":[{"type":"function","function":{"name":"f","parameters":
      {"type":"object","properties":{"":{"type":"string"}},"required":[""]}}}]})";
  const WireRequest wire = testing::sent(kClaude, body);
  const Json schema = Json::parse(wire.body)["tools"][0]["input_schema"];
  EXPECT_TRUE(schema["properties"].contains("_")) << schema;
  EXPECT_EQ(schema["required"], Json::array({"_"}));
  EXPECT_EQ(schemas::dropped_text(wire.dropped), "tools;clamped");
}

}  // namespace
}  // namespace millrace::providers::provider_rules_test
