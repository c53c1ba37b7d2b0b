#include <gtest/gtest.h>

#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::anthropic_stream_test {
namespace {

using schemas::Json;
using testing::read_stream;
using testing::Streamed;
using testing::target_of;

const Target kModel = target_of("anthropic", "claude-sonnet-4-5");

const std::string kStart = R"({"type":"message_start","message":{"id":"msg_1","model":"claude-x","usage":
{"input_tokens":10,"cache_read_input_tokens":2,"output_tokens":1}}})";
const std::string kStop = R"({"type":"message_stop"})";

std::string open(int index, const std::string& block) {
  return R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" +
         block + "}";
}
std::string add(int index, const std::string& delta) {
  return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + delta + "}";
}
std::string close(int index) {
  return R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}";
}
std::string end(const std::string& reason) {
  return R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
         R"("},"usage":{"output_tokens":9}})";
}

// What a client has received at the end.
struct Received {
  std::string content, reasoning, finish, reasoning_state;
  std::map<int, schemas::ToolCall> calls;
};
Received collected(const Streamed& stream) {
  Received all;
  for (const schemas::ChatPiece& piece : stream.pieces) {
    all.content += piece.content.value_or("");
    all.reasoning += piece.reasoning;
    all.finish += piece.finish_reason;
    all.reasoning_state += piece.reasoning_state;
    for (const schemas::ToolCallPiece& call : piece.tool_calls) {
      schemas::ToolCall& known = all.calls[call.index];
      known.id += call.id;
      known.name += call.name;
      known.arguments += call.arguments;
    }
  }
  return all;
}
Streamed stream(std::vector<std::string> data) {
  for (std::string& one : data) std::erase(one, '\n');
  return read_stream(kModel, testing::events_of(data));
}

TEST(AnthropicStream, TextArrivesPieceByPiece) {
  const Streamed read =
      stream({kStart, R"({"type":"ping"})", open(0, R"({"type":"text","text":""})"),
              add(0, R"({"type":"text_delta","text":"Hel"})"), add(0, R"({"type":"text_delta","text":"lo"})"),
              close(0), end("end_turn"), kStop});
  ASSERT_TRUE(read.status);
  EXPECT_TRUE(read.complete);
  ASSERT_EQ(read.pieces.size(), 3U);
  EXPECT_EQ(read.pieces[0].content, "Hel");
  EXPECT_EQ(read.pieces[2].finish_reason, "stop");
  EXPECT_EQ(read.facts.id, "msg_1");
  EXPECT_EQ(read.facts.model, "claude-x");
}

TEST(AnthropicStream, CountsAreCumulative) {
  const Streamed read = stream({kStart, end("end_turn"), kStop});
  EXPECT_EQ(read.facts.usage->prompt, 12);
  EXPECT_EQ(read.facts.usage->completion, 9);
  EXPECT_EQ(read.facts.usage->total, 21);
  EXPECT_EQ(read.facts.usage->cached, 2);
}

TEST(AnthropicStream, ALaterZeroDoesNotReplaceACount) {
  const Streamed read =
      stream({kStart, open(0, R"({"type":"text","text":""})"), add(0, R"({"type":"text_delta","text":"a"})"),
              close(0), R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":
              {"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":9}})",
              kStop});
  EXPECT_EQ(read.facts.usage->prompt, 12);
  EXPECT_EQ(read.facts.usage->completion, 9);
  EXPECT_EQ(read.facts.usage->cached, 2);
}

TEST(AnthropicStream, ItIsOverWithItsReasonAndNotBefore) {
  EXPECT_TRUE(stream({kStart, end("end_turn")}).complete);
  EXPECT_FALSE(stream({kStart, open(0, R"({"type":"text","text":"a"})"), close(0)}).complete);
}

TEST(AnthropicStream, NothingIsDeliveredBeforeTheFirstContent) {
  EXPECT_TRUE(stream({kStart}).pieces.empty());
}

TEST(AnthropicStream, CallsAreCountedWithoutTheServersOwn) {
  const Streamed read = stream({kStart, open(0, R"({"type":"server_tool_use","id":"s","name":"web_search"})"),
                                add(0, R"({"type":"input_json_delta","partial_json":"{\"q\""})"), close(0),
                                open(1, R"({"type":"web_search_tool_result","content":[]})"), close(1),
                                open(2, R"({"type":"tool_use","id":"t1","name":"f","input":{}})"),
                                add(2, R"({"type":"input_json_delta","partial_json":""})"),
                                add(2, R"({"type":"input_json_delta","partial_json":"{\"a\":"})"),
                                add(2, R"({"type":"input_json_delta","partial_json":"1}"})"), close(2),
                                open(3, R"({"type":"tool_use","id":"t2","name":"g","input":{}})"), close(3),
                                end("tool_use"), kStop});
  const Received all = collected(read);
  ASSERT_EQ(all.calls.size(), 2U);
  EXPECT_EQ(all.calls.at(0).id, "t1");
  EXPECT_EQ(all.calls.at(0).arguments, R"({"a":1})");
  EXPECT_EQ(all.calls.at(1).name, "g");
  EXPECT_EQ(all.calls.at(1).arguments, "{}");
  EXPECT_EQ(all.finish, "tool_calls");
  EXPECT_EQ(all.content, "");
}

TEST(AnthropicStream, TheFinishReasonComesLast) {
  const std::vector<std::string> early = {kStart, end("end_turn"),
                                          open(0, R"({"type":"text","text":"late"})"), close(0)};
  std::vector<std::string> whole = early;
  whole.push_back(kStop);
  for (const auto& events : {early, whole}) {
    const Streamed read = stream(events);
    EXPECT_TRUE(read.complete);
    ASSERT_EQ(read.pieces.size(), 2U);
    EXPECT_EQ(read.pieces[0].content, "late");
    EXPECT_EQ(read.pieces[0].finish_reason, "");
    EXPECT_EQ(read.pieces[1].finish_reason, "stop");
  }
}

// `keeps`: the request has a tool that Anthropic runs.
Streamed paused(bool keeps, const std::vector<std::string>& data) {
  const auto reader = translation(Family::kAnthropic).stream_reader(kModel);
  if (keeps) reader->keep_turn();
  Streamed out;
  for (std::string text : data) {
    std::erase(text, '\n');
    out.status = reader->read({.id = {}, .event = "message", .data = text}, out.pieces);
    EXPECT_TRUE(out.status) << text;
  }
  out.complete = reader->complete(1);
  if (out.complete) reader->end(out.pieces);
  return out;
}

TEST(AnthropicStream, APausedTurnHasAllItsBlocksAsItsState) {
  const std::vector<std::string> events = {
      kStart,
      open(0, R"({"type":"thinking","thinking":"","signature":""})"),
      add(0, R"({"type":"thinking_delta","thinking":"hm"})"),
      add(0, R"({"type":"signature_delta","signature":"sig"})"),
      close(0),
      open(1, R"({"type":"text","text":"","citations":[]})"),
      add(1, R"({"type":"text_delta","text":"a"})"),
      add(1, R"({"type":"text_delta","text":"b"})"),
      add(1, R"({"type":"citations_delta","citation":{"url":"https://a.example"}})"),
      close(1),
      open(2, R"({"type":"later_tool_result","content":[7]})"),
      close(2),
      open(3, R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})"),
      add(3, R"({"type":"input_json_delta","partial_json":"{\"q\":"})"),
      add(3, R"({"type":"input_json_delta","partial_json":"1}"})"),
      end("pause_turn"),
      kStop};  // the last block was not closed
  const Received all = collected(paused(true, events));
  EXPECT_EQ(all.finish, kPausedTurn);
  EXPECT_EQ(Json::parse(all.reasoning_state)["blocks"],
            Json::parse(R"([{"type":"thinking","thinking":"hm","signature":"sig"},
                {"type":"text","text":"ab","citations":[{"url":"https://a.example"}]},
                {"type":"later_tool_result","content":[7]},
                {"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}])"));
  const Received unkept = collected(paused(false, events));
  EXPECT_EQ(unkept.finish, "length");
  EXPECT_EQ(unkept.content, "ab");
  EXPECT_EQ(collected(paused(true, {kStart, end("pause_turn"), kStop})).finish, "length");
}

TEST(AnthropicStream, ABlockThatIsNoObjectIsIgnored) {
  for (const char* block : {R"("x")", "5", "null", "[1]"}) {
    const Received all = collected(
        paused(true, {kStart, open(0, block), add(0, R"({"type":"input_json_delta","partial_json":"{}"})"),
                      add(0, R"({"type":"citations_delta","citation":{"url":"https://a.example"}})"),
                      close(0), end("end_turn"), kStop}));
    EXPECT_EQ(all.finish, "stop") << block;
  }
}

TEST(AnthropicStream, ArgumentsThatAreCutOffStayAsTheyAre) {
  const Received all =
      collected(stream({kStart, open(0, R"({"type":"tool_use","id":"t1","name":"f","input":{}})"),
                        add(0, R"({"type":"input_json_delta","partial_json":"{\"a\": \"x"})"), close(0),
                        end("max_tokens"), kStop}));
  EXPECT_EQ(all.calls.at(0).arguments, R"({"a": "x)");
  EXPECT_EQ(all.finish, "length");
}

TEST(AnthropicStream, ThinkingIsReasoningAndItsSignatureIsKept) {
  const Received all =
      collected(stream({kStart, open(0, R"({"type":"thinking","thinking":"","signature":""})"),
                        add(0, R"({"type":"thinking_delta","thinking":"h"})"),
                        add(0, R"({"type":"thinking_delta","thinking":"m"})"),
                        add(0, R"({"type":"signature_delta","signature":"sig"})"), close(0),
                        open(1, R"({"type":"redacted_thinking","data":"xx"})"), close(1),
                        open(2, R"({"type":"text","text":""})"),
                        add(2, R"({"type":"text_delta","text":"t"})"), close(2), end("end_turn"), kStop}));
  EXPECT_EQ(all.reasoning, "hm");
  EXPECT_EQ(all.content, "t");
  EXPECT_EQ(Json::parse(all.reasoning_state), Json::parse(R"({"provider": "anthropic", "blocks": [
      {"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "redacted_thinking", "data": "xx"},
      {"type": "text"}]})"));
}

TEST(AnthropicStream, ThinkingWithoutTextKeepsItsSignatureToo) {
  const Received all = collected(
      stream({kStart, open(0, R"({"type":"thinking","thinking":"","signature":""})"),
              add(0, R"({"type":"signature_delta","signature":"sig"})"), close(0), end("end_turn"), kStop}));
  EXPECT_NE(all.reasoning_state.find("sig"), std::string::npos);
}

TEST(AnthropicStream, AnErrorInTheMiddleHasItsCode) {
  const auto failed = [](const std::string& type) {
    const Streamed read = stream({kStart, open(0, R"({"type":"text","text":"a"})"),
                                  R"({"type":"error","error":{"type":")" + type + R"(","message":"why"}})"});
    EXPECT_EQ(collected(read).content, "a");
    EXPECT_FALSE(read.complete);
    return read.status ? base::Error{} : read.status.error();
  };
  EXPECT_EQ(failed("overloaded_error").code, base::Code::kOverloaded);
  EXPECT_EQ(failed("rate_limit_error").code, base::Code::kRateLimited);
  EXPECT_EQ(failed("api_error").code, base::Code::kUpstream);
  EXPECT_EQ(failed("timeout_error").code, base::Code::kUpstreamTimeout);
  EXPECT_EQ(failed("invalid_request_error").code, base::Code::kBadRequest);
  EXPECT_EQ(failed("authentication_error").code, base::Code::kUpstream);
  EXPECT_NE(failed("api_error").message.find("why"), std::string::npos);
}

TEST(AnthropicStream, WhatIsNoEventOfItIsAnError) {
  EXPECT_FALSE(stream({"[DONE]"}).status);
  EXPECT_FALSE(stream({"nonsense"}).status);
  EXPECT_FALSE(stream({R"({"choices":[]})"}).status);
}

TEST(AnthropicStream, UnknownEventsAndStrayDeltasAreIgnored) {
  const Streamed read =
      stream({kStart, R"({"type":"news"})", add(9, R"({"type":"text_delta","text":"x"})"), close(9),
              R"({"type":"content_block_start"})", R"({"type":"message_delta"})", kStop});
  EXPECT_TRUE(read.status);
  ASSERT_EQ(read.pieces.size(), 1U);
  EXPECT_EQ(read.pieces[0].finish_reason, "stop");
  EXPECT_TRUE(read.complete);
}

TEST(AnthropicStream, ItIsTheSameWhereverItIsCut) {
  const std::string bytes =
      testing::events_of({open(0, R"({"type":"text","text":""})"),
                          add(0, R"({"type":"text_delta","text":"größer 😀"})"), kStop});
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(collected(read_stream(kModel, bytes, cut)).content, "größer 😀") << cut;
  }
}

TEST(AnthropicStream, ARefusalHasItsReason) {
  const Streamed read = stream({kStart, R"({"type":"message_delta","delta":{"stop_reason":"refusal",
      "stop_details":{"explanation":"no"}}})",
                                kStop});
  EXPECT_EQ(read.pieces.at(0).finish_reason, "content_filter");
  EXPECT_EQ(read.pieces.at(0).refusal, "no");
}

}  // namespace
}  // namespace millrace::providers::anthropic_stream_test
