#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ai/providers/media_check.h"
#include "tests/unit/providers/family_cases.h"

// Earlier replies that clients send back: each member arrives where the provider documents it, or is left out
// and reported.
namespace millrace::providers::history_test {
namespace {

using schemas::Json;
using testing::dropped_of;
using testing::kCallMember;
using testing::kTargets;
using testing::read_stream;
using testing::sent_of;
using testing::target_of;
using testing::whole_choice;

constexpr std::string_view kPixel = "data:image/png;base64,TUFSSy1pbWFnZXM=";

// A reply with every member that one can have. Each has a text of its own.
schemas::ChatReply largest_reply() {
  schemas::ChatReply reply;
  schemas::ChatChoice& choice = reply.choices.emplace_back();
  choice.content = "MARK-content";
  choice.refusal = "MARK-refusal";
  choice.reasoning = "MARK-reasoning_content";  // the text of thinking_blocks, too
  choice.finish_reason = "tool_calls";
  choice.tool_calls.push_back({.id = "callMARK1",
                               .name = "MARK-name",
                               .arguments = R"({"a":"MARK-arguments"})",
                               .extra = Json::parse(R"({"extra_content":{"google":{"thought_signature":
                                   "MARK-extra_content"}},"odd":"MARK-odd"})")});
  choice.extra = Json::parse(R"({"annotations":[{"type":"url_citation","url":"MARK-annotations"}],
      "audio":{"id":"MARK-audio","data":"AAAA","transcript":"t"},
      "content_parts":[{"type":"odd","odd":"MARK-content_parts"}],
      "reasoning_details":[{"type":"reasoning.text","text":"MARK-reasoning_details"}],
      "thinking_blocks":[{"type":"thinking","thinking":"MARK-reasoning_content","signature":"MARK-thinking_blocks"}],
      "provider_specific_fields":{"x":"MARK-provider_specific_fields"},
      "cache_control":{"type":"ephemeral","id":"MARK-cache_control"}})");
  choice.extra["images"] = {{{"type", "image_url"}, {"image_url", {{"url", kPixel}}}}};
  return reply;
}

Json message_of(const schemas::ChatReply& reply) {
  return Json::parse(schemas::chat_completion_json(reply, false))["choices"][0]["message"];
}

std::string body_with(Json message) {
  Json messages = {{{"role", "user"}, {"content", "u"}}};
  const bool has_calls = message.contains("tool_calls");
  messages.push_back(std::move(message));
  if (has_calls) messages.push_back({{"role", "tool"}, {"tool_call_id", "callMARK1"}, {"content", "r"}});
  messages.push_back({{"role", "user"}, {"content", "v"}});
  return Json{{"messages", std::move(messages)}}.dump();
}

// What shows that the member was sent.
std::string mark_of(const std::string& name) {
  if (name == "images") return "TUFSSy1pbWFnZXM=";
  return name == "role" ? "role" : name == "tool_calls" ? "MARK-arguments" : "MARK-" + name;
}

void expect_none_lost_of(const Target& target, const Json& message) {
  const std::string body = body_with(message);
  const WireRequest wire = testing::sent(target, body);
  const std::string reported = ", " + schemas::dropped_text(wire.dropped) + ",";
  const auto is_safe = [&](const std::string& prefix, const std::string& name) {
    return wire.body.find(mark_of(name)) != std::string::npos ||
           reported.find(", " + prefix + name + ",") != std::string::npos;
  };
  for (const auto& [name, value] : message.items())
    EXPECT_TRUE(value.is_null() || is_safe("messages.", name))
        << target.name << " loses " << name << wire.body;
  if (!message.contains("tool_calls")) return;
  for (const char* name : {"extra_content", "odd"})
    EXPECT_TRUE(is_safe("messages.tool_calls.", name)) << target.name << " loses " << name << wire.body;
}

TEST(History, EachMemberOfAReplyIsSentOrReported) {
  const Json whole = message_of(largest_reply());
  ASSERT_GE(whole.size(), 13U);
  Json text = whole;
  text.erase("tool_calls");
  Json parts = text;
  parts["content"] = Json::array({{{"type", "text"}, {"text", "MARK-content"}}});
  for (const Target& target : kTargets)
    for (const Json& message : {whole, text, parts}) expect_none_lost_of(target, message);
}

std::set<std::string> names_of(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

TEST(History, StrictProvidersGetOnlyWhatTheyDocument) {
  const std::set<std::string> call = {"id", "type", "function"};
  const std::vector<std::pair<Target, std::set<std::string>>> cases = {
      {kTargets[0], {"role", "content", "refusal", "tool_calls", "audio"}},
      {kTargets[1], {"role", "content", "refusal", "tool_calls", "audio"}},
      {kTargets[2], {"role", "content", "refusal", "tool_calls", "reasoning_content"}},
      {kTargets[3], {"role", "content", "tool_calls"}},
      {kTargets[4], {"role", "content", "tool_calls"}},
      {kTargets[5], {"role", "content", "tool_calls", "reasoning"}},
  };
  for (const auto& [target, expected] : cases) {
    const Json message = sent_of(target, body_with(message_of(largest_reply())))["messages"][1];
    EXPECT_EQ(names_of(message), expected) << target.name;
    EXPECT_EQ(names_of(message["tool_calls"][0]), call) << target.name;
  }
}

TEST(History, ReasoningIsSentWhereAProviderHasAPlace) {
  const std::string body =
      body_with({{"role", "assistant"}, {"content", "c"}, {"reasoning_content", "hm"}, {"name", "n"}});
  const Json mistral = sent_of(kTargets[3], body)["messages"][1];
  EXPECT_EQ(mistral["content"], Json::parse(R"([{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},
                            {"type":"text","text":"c"}])"));
  EXPECT_EQ(dropped_of(kTargets[3], body), "messages.name");
  EXPECT_EQ(sent_of(kTargets[5], body)["messages"][1]["reasoning"], "hm");
  EXPECT_EQ(dropped_of(kTargets[4], body), "messages.name, messages.reasoning_content");
  EXPECT_EQ(dropped_of(kTargets[0], body), "messages.reasoning_content");
  EXPECT_EQ(sent_of(kTargets[2], body)["messages"][1]["reasoning_content"], "hm");
  EXPECT_EQ(sent_of(kTargets[8], body)["messages"][1]["reasoning_content"], "hm");
}

TEST(History, AServerOfOnesOwnGetsAllThatTheClientSends) {
  const std::string body = body_with(Json::parse(R"({"role":"assistant","content":"c",
      "reasoning_content":"why","reasoning_details":[{"type":"reasoning.text","text":"why"}],
      "tool_calls":[{"id":"callMARK1","type":"function","function":{"name":"f","arguments":"{}"},
       "extra_content":{"google":{"thought_signature":"sig"}}}]})"));
  for (const char* own :
       {"https://inference.example/v1", "http://127.0.0.1:4000", "https://api.openai.com.example/v1"}) {
    const Target target = target_of("openai", "m", own);
    EXPECT_EQ(sent_of(target, body)["messages"][1], Json::parse(body)["messages"][1]) << own;
    EXPECT_EQ(dropped_of(target, body), "") << own;
  }
  for (const char* theirs :
       {"https://api.openai.com/v1/", "https://API.OpenAI.com/v1", "https://eu.api.openai.com/v1",
        "https://name.openai.azure.com/openai/v1?api-version=preview"}) {
    const Json sent = sent_of(target_of("openai", "gpt-4o", theirs), body)["messages"][1];
    EXPECT_EQ(names_of(sent), (std::set<std::string>{"role", "content", "tool_calls"})) << theirs;
    EXPECT_FALSE(sent["tool_calls"][0].contains("extra_content")) << theirs;
  }
}

TEST(History, OfSignedThinkingOnlyTheMembersOfItsTypeAreSent) {
  const std::string body = body_with(Json::parse(R"({"role":"assistant","content":"x","thinking_blocks":[
      {"type":"thinking","thinking":"t","signature":"s","cache_control":{"type":"ephemeral"},"odd":1},
      {"type":"redacted_thinking","data":"d","cache_control":{"type":"ephemeral"}}]})"));
  const Json blocks = sent_of(kTargets[9], body)["messages"][1]["content"];
  EXPECT_EQ(blocks[0], Json::parse(R"({"type":"thinking","thinking":"t","signature":"s"})"));
  EXPECT_EQ(blocks[1], Json::parse(R"({"type":"redacted_thinking","data":"d"})"));
}

TEST(History, SignedThinkingAndImagesGoToTheirProviders) {
  const std::string body = body_with(message_of(largest_reply()));
  const Json blocks = sent_of(kTargets[9], body)["messages"][1]["content"];
  EXPECT_EQ(
      blocks[0],
      Json::parse(
          R"({"type":"thinking","thinking":"MARK-reasoning_content","signature":"MARK-thinking_blocks"})"));
  EXPECT_EQ(blocks.back()["cache_control"]["id"], "MARK-cache_control");
  const Json parts = sent_of(kTargets[10], body)["contents"][1]["parts"];
  EXPECT_EQ(parts.back()["thoughtSignature"], "MARK-extra_content");
  EXPECT_EQ(parts[parts.size() - 2]["inlineData"]["mimeType"], "image/png");
  EXPECT_EQ(sent_of(kTargets[0], body)["messages"][1]["audio"], Json({{"id", "MARK-audio"}}));
}

TEST(History, ANameIsOnlyForTheMessagesThatHaveOne) {
  const std::string body =
      R"({"messages":[{"role":"user","name":"n","content":"u"},{"role":"assistant","tool_calls":[{"id":"abcdefghi",
      "type":"function","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"abcdefghi","name":"f","content":"r"}]})";
  const Json messages = sent_of(kTargets[3], body)["messages"];
  EXPECT_FALSE(messages[0].contains("name"));
  EXPECT_EQ(messages[2]["name"], "f");
  EXPECT_EQ(dropped_of(kTargets[3], body), "messages.name");
}

TEST(History, WhatIsEmptyIsLeftOutWithoutAReport) {
  const std::string body = body_with(
      Json::parse(R"({"role":"assistant","content":"c","annotations":[],"reasoning_content":"","audio":{},
      "thinking_blocks":[],"images":[],"refusal":null,"reasoning_details":null})"));
  for (const Target& target : kTargets) EXPECT_EQ(dropped_of(target, body), "") << target.name;
}

TEST(History, AMemberOfAnotherFormIsReported) {
  const std::vector<std::pair<std::string, Json>> odd = {
      {"audio", "x"},
      {"audio", {{"data", "x"}}},
      {"reasoning_content", 5},
      {"thinking_blocks", "x"},
      {"images", {{"a", 1}}},
      {"annotations", true},
      {"thinking_blocks", Json::parse(R"([5,{"type":"thinking","thinking":"x"},{"type":"odd"}])")},
      {"images", Json::parse(R"([{"type":"image_url","image_url":{"url":"data:image/png,x"}}])")},
  };
  for (const auto& [name, value] : odd) {
    const std::string body = body_with({{"role", "assistant"}, {"content", "c"}, {name, value}});
    for (const std::size_t at : {0, 3, 4, 9, 10}) {
      if (at == 10 && name == "images" && value.is_object()) continue;
      EXPECT_EQ(dropped_of(kTargets[at], body), "messages." + name) << kTargets[at].name << value;
    }
  }
}

// Unknown members of parts, of what they hold, of tools and of their functions.
constexpr std::string_view kOddMembers = R"({"messages":[
    {"role":"user","content":[{"type":"text","text":"u","odd_part":"MARK-1"},
     {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","odd_source":"MARK-2"}}]},
    {"role":"assistant","content":[{"type":"text","text":"a","annotations":[{"type":"x"}],"logprobs":[1],
     "id":"MARK-3","citations":[{"u":"MARK-4"}],"parsed":null}]},
    {"role":"user","content":"v"}],
    "tools":[{"type":"function","odd_tool":"MARK-5","function":{"name":"f","parameters":{"type":"object",
     "properties":{"p":{"type":"string"}}},"odd_function":{"m":"MARK-6"}}}]})";

TEST(History, UnknownMembersOfPartsAndToolsAreLeftOutAndReported) {
  const std::vector<std::string> names = {"messages.odd_part", "messages.odd_source", "messages.annotations",
                                          "messages.logprobs", "messages.id",         "messages.citations",
                                          "tools.odd_tool",    "tools.odd_function"};
  for (const Target& target : kTargets) {
    const WireRequest wire = testing::sent(target, kOddMembers);
    const bool is_local = media_dialect(target) == Dialect::kLocal;
    const std::string reported = ", " + schemas::dropped_text(wire.dropped) + ",";
    EXPECT_EQ(wire.body.find("MARK-") != std::string::npos, is_local) << target.name << wire.body;
    for (const std::string& name : names)
      EXPECT_EQ(reported.find(", " + name + ",") != std::string::npos, !is_local) << target.name << reported;
    EXPECT_EQ(reported.find("parsed"), std::string::npos);
  }
}

TEST(History, ARefusalIsATextWhereAProviderHasNoSuchPart) {
  const std::string_view body = R"({"messages":[{"role":"user","content":"u"},
      {"role":"assistant","content":[{"type":"refusal","refusal":"no"}]},{"role":"user","content":"v"}]})";
  const Json refusal = Json::parse(R"([{"type":"refusal","refusal":"no"}])");
  for (const std::size_t at : {0, 1, 6, 7, 8})
    EXPECT_EQ(sent_of(kTargets[at], body)["messages"][1]["content"], refusal) << kTargets[at].name;
  const Json text = Json::parse(R"([{"type":"text","text":"no"}])");
  for (const std::size_t at : {2, 3, 4, 5, 9})
    EXPECT_EQ(sent_of(kTargets[at], body)["messages"][1]["content"], text) << kTargets[at].name;
  EXPECT_EQ(sent_of(kTargets[10], body)["contents"][1]["parts"], Json::parse(R"([{"text":"no"}])"));
  for (const Target& target : kTargets) EXPECT_EQ(dropped_of(target, body), "") << target.name;
}

TEST(History, ManyUnknownMembersAreReportedInShortTime) {
  Json message = {{"role", "assistant"}, {"content", "c"}};
  for (int i = 0; i < 30'000; ++i) message["m" + std::to_string(i)] = i;
  const std::string body = body_with(message);
  for (const std::size_t at : {0, 9, 10}) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_NE(dropped_of(kTargets[at], body).find("messages.m"), std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  }
}

// --- Marks of the prompt cache ---

constexpr std::string_view kMarked = R"({"messages":[
    {"role":"system","content":"s","cache_control":{"type":"ephemeral","n":1}},
    {"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":" ","cache_control":{"type":"ephemeral","n":2}}]},
    {"role":"assistant","content":"a","tool_calls":[{"id":"callMARK1","type":"function",
     "function":{"name":"f","arguments":"{}"},"cache_control":{"type":"ephemeral","n":3}}]},
    {"role":"tool","tool_call_id":"callMARK1","content":"r"}],
    "tools":[{"type":"function","function":{"name":"f","cache_control":{"type":"ephemeral","n":4}}}]})";

TEST(CacheMarks, OfEachLevelArriveAtAnthropic) {
  const Json wire = sent_of(kTargets[9], kMarked);
  EXPECT_EQ(wire["system"][0]["cache_control"]["n"], 1);
  EXPECT_EQ(wire["messages"][0]["content"][0]["cache_control"]["n"], 2);
  EXPECT_EQ(wire["messages"][1]["content"][1]["cache_control"]["n"], 3);
  EXPECT_EQ(wire["tools"][0]["cache_control"]["n"], 4);
  EXPECT_EQ(dropped_of(kTargets[9], kMarked), "");
}

TEST(CacheMarks, WithoutAPlaceAreReported) {
  for (const std::size_t at : {0, 1, 2, 3, 4, 5, 10}) {
    EXPECT_EQ(testing::sent(kTargets[at], kMarked).body.find("cache_control"), std::string::npos);
    const std::string reported = dropped_of(kTargets[at], kMarked);
    for (const char* name :
         {"messages.cache_control", "messages.tool_calls.cache_control", "tools.cache_control"})
      EXPECT_NE(reported.find(name), std::string::npos) << kTargets[at].name << ": " << reported;
  }
  for (const std::size_t at : {6, 7, 8}) {
    const WireRequest wire = testing::sent(kTargets[at], kMarked);
    for (const char* mark : {R"("n":1)", R"("n":2)", R"("n":3)", R"("n":4)"})
      EXPECT_NE(wire.body.find(mark), std::string::npos) << kTargets[at].name;
    EXPECT_TRUE(wire.dropped.empty());
  }
}

TEST(CacheMarks, AnthropicGetsTheLastFour) {
  Json request = Json::parse(kMarked);
  for (int n = 5; n < 7; ++n)
    request["messages"].push_back(
        {{"role", "user"}, {"content", "more"}, {"cache_control", {{"type", "ephemeral"}, {"n", n}}}});
  const std::string wire = testing::sent(kTargets[9], request.dump()).body;
  for (int n = 1; n < 7; ++n) {
    const bool is_there = wire.find(R"("n":)" + std::to_string(n)) != std::string::npos;
    EXPECT_EQ(is_there, n != 1 && n != 4) << n;
  }
  EXPECT_EQ(dropped_of(kTargets[9], request.dump()),
            "tools.cache_control;clamped, messages.cache_control;clamped");
}

TEST(CacheMarks, AMarkWithoutABlockIsReported) {
  EXPECT_EQ(dropped_of(kTargets[9], R"({"messages":[{"role":"user","content":"u"},
      {"role":"user","content":" ","cache_control":{"type":"ephemeral"}}]})"),
            "messages.cache_control");
}

// --- What a provider needs back with its calls ---

struct Answer {
  std::string_view provider, message;
};

const std::vector<Answer> kAnswers = {
    {"vllm", R"("reasoning_content":"why")"},
    {"vllm", R"("reasoning":"why")"},
    {"openrouter",
     R"("reasoning":"why","reasoning_details":[{"type":"reasoning.encrypted","data":"d","index":0}])"},
    {"mistral", R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"why"}]}])"},
    {"groq", R"("reasoning":"why")"},
    {"xai", R"("reasoning_content":"why")"},
};

schemas::ChatChoice assembled(const testing::Streamed& read) {
  EXPECT_TRUE(read.status.has_value());
  schemas::ChatAssembly assembly;
  for (const schemas::ChatPiece& piece : read.pieces) assembly.add(piece);
  const schemas::ChatReply reply = assembly.take();
  return reply.choices.empty() ? schemas::ChatChoice{} : reply.choices[0];
}

std::string delta(std::string_view members, std::string_view finish = "null") {
  return R"(data: {"choices":[{"index":0,"delta":{)" + std::string(members) + R"(},"finish_reason":)" +
         std::string(finish) + "}]}\n\n";
}

schemas::ChatChoice streamed_choice(const Target& target, std::string_view message) {
  return assembled(read_stream(target, delta(message) + delta(kCallMember) + delta("", R"("tool_calls")")));
}

Json next_turn(const Target& target, const schemas::ChatChoice& choice) {
  schemas::ChatRequest request = testing::request_of(Json::object());
  schemas::append_turn(request, choice, {{"abcdefghi", "r"}});
  const auto wire = translation(target.preset->family).chat_request(target, request, false);
  EXPECT_TRUE(wire.has_value());
  EXPECT_EQ(schemas::dropped_text(wire->dropped), "") << target.name;
  return Json::parse(wire->body)["messages"][1];
}

TEST(ReasoningState, WhatTheProviderThoughtComesBackUnderItsOwnNames) {
  for (const auto& [provider, message] : kAnswers) {
    const Target target = target_of(provider, provider == "groq" ? "openai/gpt-oss-120b" : "m");
    const Json expected = Json::parse("{" + std::string(message) + "}");
    for (const bool stream : {false, true}) {
      const auto choice = stream ? streamed_choice(target, message) : whole_choice(target, message);
      const Json turn = next_turn(target, choice);
      for (const auto& [name, value] : expected.items()) EXPECT_EQ(turn[name], value) << provider << stream;
      EXPECT_EQ(turn["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "sig") << provider;
    }
  }
}

TEST(ReasoningState, IsForNoOtherProvider) {
  const auto choice = whole_choice(target_of("vllm", "m"), R"("reasoning":"secret")");
  schemas::ChatRequest request = testing::request_of(Json::object());
  schemas::append_turn(request, choice, {{"abcdefghi", "r"}});
  for (const Target& target : kTargets) {
    if (target.preset->name == "vllm") continue;
    const auto wire = translation(target.preset->family).chat_request(target, request, false);
    ASSERT_TRUE(wire.has_value());
    EXPECT_EQ(wire->body.find("secret"), std::string::npos) << target.name;
    EXPECT_EQ(wire->body.find(schemas::kReasoningStateMember), std::string::npos) << target.name;
  }
}

TEST(ReasoningState, DeltasBecomeWholeTextsAndDetails) {
  const Target target = target_of("openrouter", "m");
  const auto choice = assembled(read_stream(
      target,
      delta(R"("reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}])") +
          delta(
              R"("reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0,"signature":"s"}])") +
          delta(R"("reasoning_details":[{"type":"reasoning.encrypted","data":"d","index":1}])") +
          delta(R"("reasoning_content":"c")") + delta(kCallMember) + delta("", R"("tool_calls")")));
  const Json turn = next_turn(target, choice);
  EXPECT_EQ(turn["reasoning"], "ab");
  EXPECT_EQ(turn["reasoning_content"], "c");
  EXPECT_EQ(turn["reasoning_details"],
            Json::parse(R"([{"type":"reasoning.text","text":"ab","index":0,"signature":"s"},
                            {"type":"reasoning.encrypted","data":"d","index":1}])"));
}

TEST(ReasoningState, IsKeptOnlyWithCallsAndUpToItsBound) {
  const Target target = target_of("vllm", "m");
  EXPECT_EQ(assembled(read_stream(target, delta(R"("reasoning_content":"a")") + delta("", R"("stop")")))
                .reasoning_state,
            "");
  const std::string part = R"("reasoning_content":")" + std::string(100'000, 'x') + "\"";
  std::string text;
  for (int i = 0; i < 11; ++i) text += delta(part);
  const auto choice =
      assembled(read_stream(target, text + delta(kCallMember) + delta("", R"("tool_calls")")));
  EXPECT_EQ(choice.reasoning_state, "");
  EXPECT_EQ(choice.reasoning.size(), 1'100'000U);
  std::string zeros = "0";
  for (int i = 0; i < 80'000; ++i) zeros += ",0";
  const std::string details = delta(R"("reasoning_details":[{"d":[)" + zeros + "]}]");
  EXPECT_EQ(assembled(read_stream(target, details + delta(kCallMember) + delta("", R"("tool_calls")")))
                .reasoning_state,
            "")
      << "values without texts count, too";
}

TEST(ReasoningState, ToolsThatAnthropicRanComeBackBesideACall) {
  const Target target = target_of("anthropic", "claude-sonnet-4-5");
  const std::string search = R"({"type":"server_tool_use","id":"s","name":"web_search","input":{"q":"x"}})";
  const std::string found = R"({"type":"web_search_tool_result","tool_use_id":"s","content":[{"url":"u"}]})";
  const std::string call = R"({"type":"tool_use","id":"abcdefghi","name":"f","input":{}})";
  const std::string text = R"({"type":"text","text":"t"})";
  const auto reply = translation(Family::kAnthropic)
                         .chat_reply(target, R"({"content":[)" + search + "," + found + "," + text + "," +
                                                 call + R"(],"stop_reason":"tool_use"})");
  ASSERT_TRUE(reply.has_value());
  const auto block = [](int index, std::string_view start, std::string_view json = "") {
    const std::string at = R"("index":)" + std::to_string(index);
    std::string events = R"(data: {"type":"content_block_start",)" + at + R"(,"content_block":)" +
                         std::string(start) + "}\n\n";
    if (!json.empty())
      events += R"(data: {"type":"content_block_delta",)" + at +
                R"(,"delta":{"type":"input_json_delta","partial_json":)" + Json(json).dump() + "}}\n\n";
    return events + R"(data: {"type":"content_block_stop",)" + at + "}\n\n";
  };
  const auto streamed = assembled(read_stream(
      target,
      block(0, R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})", R"({"q":"x"})") +
          block(1, found) + block(2, text) + block(3, call) +
          "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n"));
  const Json expected = Json::parse("[" + search + "," + found + "," + text + "," + call + "]");
  EXPECT_EQ(next_turn(target, reply->choices[0])["content"], expected);
  EXPECT_EQ(next_turn(target, streamed)["content"], expected);
}

// --- Members of a call ---

TEST(CallMembers, UnknownOnesReachTheClient) {
  const Target target = target_of("vllm", "m");
  const std::string_view call =
      R"("tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}","odd":1},)"
      R"("extra_content":{"b":1,"a":2}}])";
  const auto reply = translation(Family::kOpenai)
                         .chat_reply(target, R"({"choices":[{"message":{)" + std::string(call) +
                                                 R"(},"finish_reason":"tool_calls"}]})");
  ASSERT_TRUE(reply.has_value());
  const std::string expected =
      R"("function":{"name":"f","arguments":"{}","odd":1},"extra_content":{"b":1,"a":2}})";
  EXPECT_NE(schemas::chat_completion_json(*reply, false).find(expected), std::string::npos);
  schemas::ChatChunks chunks("i", 0, "m", {});
  std::string events;
  for (const schemas::ChatPiece& piece :
       read_stream(target, delta(call) + delta(R"("tool_calls":[{"index":0,"extra_content":{"c":3}}])"))
           .pieces)
    events += chunks.piece(piece);
  EXPECT_NE(events.find(expected), std::string::npos) << events;
  EXPECT_NE(events.find(R"("extra_content":{"c":3})"), std::string::npos) << events;
}

}  // namespace
}  // namespace millrace::providers::history_test
