#include <gtest/gtest.h>

#include "schemas/chat/chat_reply.h"

namespace millrace::schemas::chat_chunks_test {
namespace {

using schemas::Json;

ChatChunks chunks(ChatChunks::Options options = {}) { return ChatChunks("chatcmpl-1", 17, "m", options); }

ChatPiece text(std::string content) {
  ChatPiece piece;
  piece.content = std::move(content);
  return piece;
}
ChatPiece finish(std::string reason) {
  ChatPiece piece;
  piece.finish_reason = std::move(reason);
  return piece;
}
// The data of one event.
Json data_of(std::string_view event) {
  EXPECT_TRUE(event.starts_with("data: {")) << event;
  EXPECT_TRUE(event.ends_with("}\n\n")) << event;
  return Json::parse(event.substr(6));
}

constexpr std::string_view kHead =
    R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"m","choices":[)";
constexpr std::string_view kDone = "data: [DONE]\n\n";

std::string event(std::string_view choice, std::string_view more = "") {
  return std::string(kHead).append(choice).append("]").append(more).append("}\n\n");
}

TEST(ChatChunkEvents, SayTheRoleOncePerChoice) {
  ChatChunks out = chunks();
  EXPECT_EQ(out.piece(text("He")), event(R"({"index":0,"delta":{"role":"assistant","content":"He"},)"
                                         R"("logprobs":null,"finish_reason":null})"));
  EXPECT_EQ(out.piece(text("y")),
            event(R"({"index":0,"delta":{"content":"y"},"logprobs":null,"finish_reason":null})"));
  ChatPiece other = text("Yo");
  other.index = 1;
  EXPECT_EQ(data_of(out.piece(other))["choices"][0]["delta"]["role"], "assistant");
}

TEST(ChatChunkEvents, TheFirstDeltaSaysItsContentWhateverElseItHas) {
  ChatChunks silent = chunks();
  EXPECT_EQ(data_of(silent.piece({}))["choices"][0]["delta"], (Json{{"role", "assistant"}, {"content", ""}}));
  ChatChunks thinking = chunks();
  ChatPiece piece;
  piece.reasoning = "hm";
  EXPECT_EQ(data_of(thinking.piece(piece))["choices"][0]["delta"],
            (Json{{"role", "assistant"}, {"content", nullptr}, {"reasoning_content", "hm"}}));
  EXPECT_EQ(data_of(thinking.piece(piece))["choices"][0]["delta"], (Json{{"reasoning_content", "hm"}}));
}

TEST(ChatChunkEvents, ALastChunkWithoutUsageIsTheOneWithTheReason) {
  ChatChunks out = chunks();
  out.piece(text("x"));
  EXPECT_EQ(out.piece(finish("stop")), "");
  ChatMetadata facts;
  facts.system_fingerprint = "fp";
  EXPECT_EQ(out.end(facts, {}), event(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"})",
                                      R"(,"system_fingerprint":"fp")")
                                    .append(kDone));
}

TEST(ChatChunkEvents, AReasonIsSentBeforeWhatFollowsIt) {
  ChatChunks out = chunks();
  out.piece(text("x"));
  out.piece(finish("stop"));
  ChatPiece second = finish("length");
  second.index = 1;
  EXPECT_EQ(data_of(out.piece(second))["choices"][0]["finish_reason"], "stop");
  const std::string end = out.end({}, {});
  EXPECT_NE(end.find(R"("finish_reason":"length")"), std::string::npos);
}

TEST(ChatChunkEvents, UsageIsALastChunkAndNullBefore) {
  ChatChunks out = chunks({.include_usage = true});
  EXPECT_TRUE(data_of(out.piece(text("x")))["usage"].is_null());
  out.piece(finish("stop"));
  ChatMetadata facts;
  facts.usage = ChatUsage{.prompt = 1, .completion = 2, .total = 3};
  facts.service_tier = "flex";
  EXPECT_EQ(
      out.end(facts, {}),
      event(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"})", R"(,"usage":null)") +
          event(
              "",
              R"(,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3},"service_tier":"flex")")
              .append(kDone));
}

TEST(ChatChunkEvents, UsageMayBeInTheChunkWithTheReason) {
  ChatMetadata facts;
  facts.usage = ChatUsage{.prompt = 1, .completion = 2, .total = 3};
  ChatChunks out = chunks({.usage_with_reason = true});
  EXPECT_FALSE(data_of(out.piece(text("x"))).contains("usage"));
  out.piece(finish("stop"));
  EXPECT_EQ(out.end(facts, {}),
            event(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"})",
                  R"(,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3})")
                .append(kDone));
}

TEST(ChatChunkEvents, ToolsRideOnTheLastChunk) {
  ToolReport tools;
  tools.executed = {"s__f"};
  tools.turns = 2;
  for (const bool usage : {false, true}) {
    ChatChunks out = chunks({.include_usage = usage});
    out.piece(text("x"));
    out.piece(finish("stop"));
    std::string end = out.end({}, tools);
    ASSERT_TRUE(end.ends_with(kDone));
    end.resize(end.size() - kDone.size());
    const Json last = data_of(std::string_view(end).substr(end.rfind("data: ")));
    EXPECT_EQ(last["tools_executed"], Json::array({"s__f"}));
    EXPECT_EQ(last["turns_consumed"], 2);
    EXPECT_EQ(last["choices"].empty(), usage);
  }
}

TEST(ChatChunkEvents, CallsAreNamedOnceAndTheirArgumentsGoOn) {
  ChatChunks out = chunks();
  ChatPiece begin;
  begin.tool_calls = {{.index = 0, .id = "c1", .name = "f", .arguments = ""},
                      {.index = 1, .id = "c2", .type = "custom", .name = "g", .arguments = "x"}};
  EXPECT_EQ(data_of(out.piece(begin))["choices"][0]["delta"],
            Json::parse(R"({"role":"assistant","content":null,"tool_calls":[)"
                        R"({"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}},)"
                        R"({"index":1,"id":"c2","type":"custom","custom":{"name":"g","input":"x"}}]})"));
  ChatPiece more;
  more.tool_calls = {{.index = 0, .arguments = "{"}, {.index = 1, .arguments = "y"}};
  EXPECT_EQ(data_of(out.piece(more))["choices"][0]["delta"],
            Json::parse(R"({"tool_calls":[{"index":0,"function":{"arguments":"{"}},)"
                        R"({"index":1,"custom":{"input":"y"}}]})"));
}

TEST(ChatChunkEvents, TheOldFormHasOneFunctionCall) {
  ChatChunks out = chunks({.old_functions = true});
  ChatPiece begin;
  begin.tool_calls = {{.index = 0, .id = "c1", .name = "f", .arguments = "{}"}};
  EXPECT_EQ(data_of(out.piece(begin))["choices"][0]["delta"]["function_call"],
            (Json{{"name", "f"}, {"arguments", "{}"}}));
  out.piece(finish("tool_calls"));
  EXPECT_NE(out.end({}, {}).find(R"("finish_reason":"function_call")"), std::string::npos);
}

TEST(ChatChunkEvents, CallsThatTheOldFormHasNoPlaceForAreNamed) {
  const std::vector<ToolCall> calls = {{.id = "c1", .name = "f"}, {.id = "c2", .name = "g"}};
  for (const bool old_functions : {true, false}) {
    const Json expected = old_functions ? Json{"g"} : Json();
    ChatReply reply;
    reply.choices.emplace_back().tool_calls = calls;
    EXPECT_EQ(Json::parse(chat_completion_json(reply, old_functions)).value("dropped_calls", Json()),
              expected);
    ChatChunks out = chunks({.old_functions = old_functions});
    ChatPiece begin;
    begin.tool_calls = {{.index = 0, .id = "c1", .name = "f"}, {.index = 1, .id = "c2", .name = "g"}};
    out.piece(begin);
    out.piece(finish("tool_calls"));
    std::string end = out.end({}, {});
    EXPECT_EQ(data_of(end.substr(0, end.find("data: [DONE]"))).value("dropped_calls", Json()), expected);
  }
}

TEST(ChatChunkEvents, ObfuscationIsThereWhenAskedFor) {
  ChatChunks out = chunks({.include_obfuscation = true});
  const Json chunk = data_of(out.piece(text("x")));
  EXPECT_GE(chunk["obfuscation"].get<std::string>().size(), 1u);
  EXPECT_FALSE(data_of(chunks().piece(text("x"))).contains("obfuscation"));
}

TEST(ChatChunkEvents, UnknownMembersOfTheUpstreamArePassedOn) {
  ChatChunks out = chunks();
  ChatPiece piece;
  piece.extra = {{"audio", {{"id", "a"}}}, {"role", "user"}};
  piece.logprobs = {{"content", Json::array()}};
  out.piece(text("x"));
  EXPECT_EQ(data_of(out.piece(piece))["choices"][0],
            Json::parse(R"({"index":0,"delta":{"audio":{"id":"a"}},"logprobs":{"content":[]},)"
                        R"("finish_reason":null})"));
}

TEST(ChatChunkEvents, APieceWithNothingForClientsIsNoEvent) {
  ChatChunks out = chunks();
  out.piece(text("x"));
  ChatPiece opaque;
  opaque.reasoning_state = "secret";
  EXPECT_EQ(out.piece(opaque), "");
}

TEST(ChatChunkEvents, LineEndsAndBrokenBytesDoNotBreakAnEvent) {
  ChatChunks out = chunks();
  const std::string got = out.piece(text("a\n\r\n\xC3"));
  EXPECT_EQ(std::count(got.begin(), got.end(), '\n'), 2);
  EXPECT_EQ(data_of(got)["choices"][0]["delta"]["content"], "a\n\r\n\xEF\xBF\xBD");
}

TEST(ChatChunkEvents, AnErrorIsANamedEvent) {
  EXPECT_EQ(ChatChunks::error(R"({"error":{}})"), "event: error\ndata: {\"error\":{}}\n\n");
}

TEST(ChatPieces, AnEmptyTextIsSomethingButNoContent) {
  ChatPiece piece;
  piece.index = 1;
  EXPECT_TRUE(is_empty(piece));
  EXPECT_TRUE(is_blank(piece));
  piece.content = piece.refusal = "";
  EXPECT_FALSE(is_empty(piece));
  EXPECT_TRUE(is_blank(piece));
  const auto with = [](auto&& change) {
    ChatPiece made;
    change(made);
    return !is_empty(made) && !is_blank(made);
  };
  EXPECT_TRUE(with([](ChatPiece& made) { made.content = "x"; }));
  EXPECT_TRUE(with([](ChatPiece& made) { made.refusal = "x"; }));
  EXPECT_TRUE(with([](ChatPiece& made) { made.reasoning = "x"; }));
  EXPECT_TRUE(with([](ChatPiece& made) { made.tool_calls.emplace_back(); }));
  EXPECT_TRUE(with([](ChatPiece& made) { made.finish_reason = "stop"; }));
  EXPECT_TRUE(with([](ChatPiece& made) { made.logprobs = Json::object(); }));
  EXPECT_TRUE(with([](ChatPiece& made) { made.extra = Json::object(); }));
  EXPECT_TRUE(with([](ChatPiece& made) { made.reasoning_state = "x"; }));
}

TEST(ChatAssemblyParts, ArePutTogetherByChoiceAndCall) {
  ChatAssembly assembly;
  ChatPiece first = text("He");
  first.reasoning = "r1";
  first.tool_calls = {{.index = 0, .id = "c", .name = "f", .arguments = "{"}};
  first.extra = {{"audio", {{"id", "a"}, {"data", "QQ"}}}};
  first.logprobs = {{"content", {1}}};
  ChatPiece second = text("y");
  second.reasoning = "r2";
  second.tool_calls = {{.index = 0, .arguments = "}"}, {.index = 1, .id = "d", .name = "g"}};
  second.extra = {{"audio", {{"id", "a"}, {"data", "Qg"}}}};
  second.logprobs = {{"content", {2}}};
  second.finish_reason = "stop";
  second.reasoning_state = "k";
  ChatPiece other = text("Yo");
  other.index = 1;
  assembly.add(other);
  assembly.add(first);
  assembly.add(second);
  ChatMetadata facts;
  facts.id = "i";
  facts.usage = ChatUsage{.total = 3};
  assembly.add(facts);
  const ChatReply reply = assembly.take();
  ASSERT_EQ(reply.choices.size(), 2u);
  const ChatChoice& choice = reply.choices[0];
  EXPECT_EQ(choice.content, "Hey");
  EXPECT_EQ(choice.reasoning, "r1r2");
  EXPECT_EQ(choice.tool_calls, (std::vector<ToolCall>{{.id = "c", .name = "f", .arguments = "{}"},
                                                      {.id = "d", .name = "g", .arguments = ""}}));
  EXPECT_EQ(choice.extra["audio"], (Json{{"id", "a"}, {"data", "QQQg"}}));
  EXPECT_EQ(choice.logprobs["content"], (Json{1, 2}));
  EXPECT_EQ(choice.finish_reason, "stop");
  EXPECT_EQ(choice.reasoning_state, "k");
  EXPECT_EQ(reply.choices[1].content, "Yo");
  EXPECT_EQ(reply.id, "i");
  EXPECT_EQ(reply.usage->total, 3);
}

}  // namespace
}  // namespace millrace::schemas::chat_chunks_test
