#include <gtest/gtest.h>

#include "ai/providers/openai/reply.h"
#include "ai/providers/openai/stream.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::openai_stream_test {
namespace {

using schemas::Json;
using testing::events_of;
using testing::read_stream;
using testing::Streamed;
using testing::target_of;

const Target& openai() {
  static const Target target = target_of("openai", "gpt-4o");
  return target;
}

std::string chunk(const Json& delta, const Json& finish = nullptr, const Json& more = Json::object()) {
  Json out{{"id", "c-1"},
           {"object", "chat.completion.chunk"},
           {"created", 1700000000},
           {"model", "m-1"},
           {"choices", {{{"index", 0}, {"delta", delta}, {"finish_reason", finish}}}}};
  out.update(more);
  return out.dump();
}
std::string calls_chunk(Json calls) { return chunk({{"tool_calls", std::move(calls)}}); }

struct Joined {
  std::string content, refusal, reasoning, finish;
  std::vector<schemas::ToolCall> calls;
};
Joined join(const Streamed& streamed) {
  Joined out;
  for (const schemas::ChatPiece& piece : streamed.pieces) {
    out.content += piece.content.value_or("");
    out.refusal += piece.refusal.value_or("");
    out.reasoning += piece.reasoning;
    out.finish += piece.finish_reason;
    for (const schemas::ToolCallPiece& call : piece.tool_calls) {
      const auto at = static_cast<std::size_t>(call.index);
      if (at >= out.calls.size()) out.calls.resize(at + 1);
      out.calls[at].id += call.id;
      out.calls[at].name += call.name;
      out.calls[at].arguments += call.arguments;
    }
  }
  return out;
}
Joined join(const std::vector<std::string>& data) { return join(read_stream(openai(), events_of(data))); }

TEST(OpenaiStream, ACallWithoutArgumentsHasAnEmptyObjectUnlessItWasCut) {
  for (const auto& [finish, arguments] : {std::pair("tool_calls", "{}"), std::pair("length", "")}) {
    const Joined got = join(read_stream(
        openai(),
        events_of(
            {calls_chunk({{{"index", 0}, {"id", "c"}, {"function", {{"name", "f"}, {"arguments", ""}}}}}),
             calls_chunk(
                 {{{"index", 1}, {"id", "d"}, {"function", {{"name", "g"}, {"arguments", nullptr}}}}}),
             chunk(Json::object(), finish), "[DONE]"})));
    ASSERT_EQ(2U, got.calls.size());
    EXPECT_EQ(arguments, got.calls[0].arguments);
    EXPECT_EQ(arguments, got.calls[1].arguments);
    EXPECT_EQ("g", got.calls[1].name);
    EXPECT_EQ(finish, got.finish);
  }
}

TEST(OpenaiStream, UsageOfAChoiceIsThatOfTheStream) {
  const Json usage = {{"prompt_tokens", 7}, {"completion_tokens", 1}, {"total_tokens", 8}};
  Json last = Json::parse(chunk(Json::object(), "stop"));
  last["choices"][0]["usage"] = usage;
  const Streamed got = read_stream(openai(), events_of({chunk({{"content", "x"}}), last.dump(), "[DONE]"}));
  ASSERT_TRUE(got.facts.usage);
  EXPECT_EQ(8, got.facts.usage->total);
  for (const schemas::ChatPiece& piece : got.pieces) EXPECT_TRUE(piece.extra.is_null());
}

TEST(OpenaiStream, PiecesAreTheSameWhereverTheBytesAreCut) {
  const std::string bytes =
      ": a comment\r\n\r\n" +
      events_of(
          {chunk({{"role", "assistant"}, {"content", ""}}), chunk({{"content", "grüße 😀"}}),
           chunk({{"reasoning_content", "weil"}}),
           calls_chunk({{{"index", 0}, {"id", "a"}, {"function", {{"name", "f"}, {"arguments", "{\"q\""}}}}}),
           calls_chunk({{{"index", 0}, {"function", {{"arguments", ":1}"}}}}}),
           chunk(Json::object(), "tool_calls"),
           Json{{"choices", Json::array()}, {"usage", {{"prompt_tokens", 3}, {"completion_tokens", 4}}}}
               .dump(),
           "[DONE]"});
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const Streamed streamed = read_stream(openai(), bytes, cut);
    ASSERT_TRUE(streamed.status) << cut;
    ASSERT_TRUE(streamed.complete) << cut;
    ASSERT_EQ(6u, streamed.pieces.size()) << cut;
    const Joined joined = join(streamed);
    ASSERT_EQ("grüße 😀", joined.content) << cut;
    ASSERT_EQ("weil", joined.reasoning) << cut;
    ASSERT_EQ("{\"q\":1}", joined.calls.at(0).arguments) << cut;
    ASSERT_EQ("tool_calls", joined.finish) << cut;
    ASSERT_EQ(7, streamed.facts.usage->total) << cut;
  }
}

TEST(OpenaiStream, EveryEventWithNewsIsAPieceOfItsOwn) {
  const Streamed streamed = read_stream(
      openai(),
      events_of({chunk({{"role", "assistant"}}), chunk({{"content", "a"}}), chunk({{"content", "b"}}),
                 chunk(Json::object()), chunk({{"content", ""}}), chunk(Json::object(), "stop")}));
  ASSERT_EQ(4u, streamed.pieces.size());
  EXPECT_EQ(std::nullopt, streamed.pieces[0].content);
  EXPECT_EQ("a", streamed.pieces[1].content);
  EXPECT_EQ("b", streamed.pieces[2].content);
  EXPECT_EQ("stop", streamed.pieces[3].finish_reason);
}

TEST(OpenaiStream, ReasoningHasOneNameWhateverTheUpstreamCallsIt) {
  EXPECT_EQ("x", join({chunk({{"reasoning_content", "x"}})}).reasoning);
  EXPECT_EQ("x", join({chunk({{"reasoning", "x"}})}).reasoning);
  EXPECT_EQ("x", join({chunk({{"reasoning", "x"}, {"reasoning_content", "x"}})}).reasoning);
  const Json thought{{"type", "thinking"}, {"thinking", {{{"type", "text"}, {"text", "x"}}}}};
  const Joined parts = join({chunk({{"content", {thought, {{"type", "text"}, {"text", "y"}}}}})});
  EXPECT_EQ("x", parts.reasoning);
  EXPECT_EQ("y", parts.content);
}

TEST(OpenaiStream, RefusalsAndLogprobsArePassedOn) {
  EXPECT_EQ("no.", join({chunk({{"refusal", "no"}}), chunk({{"refusal", "."}})}).refusal);
  Json first_chunk = Json::parse(chunk({{"content", "a"}}));
  first_chunk["choices"][0]["logprobs"] = {{"content", {{{"token", "a"}}}}};
  const Streamed streamed = read_stream(openai(), events_of({first_chunk.dump()}));
  EXPECT_EQ("a", streamed.pieces.at(0).logprobs["content"][0]["token"]);
}

TEST(OpenaiStream, ToolCallsWithoutIndexOrIdAreNumberedAndNamed) {
  const Json one{{"function", {{"name", "f"}, {"arguments", "{}"}}}};
  const Json two{{"id", "null"}, {"function", {{"name", "g"}, {"arguments", {{"q", 1}}}}}};
  const Joined joined = join({calls_chunk({one, two}), chunk(Json::object(), "stop")});
  ASSERT_EQ(2u, joined.calls.size());
  EXPECT_EQ("f", joined.calls[0].name);
  EXPECT_EQ("{\"q\":1}", joined.calls[1].arguments);
  EXPECT_TRUE(joined.calls[0].id.starts_with("call_"));
  EXPECT_NE(joined.calls[0].id, joined.calls[1].id);
  EXPECT_EQ("tool_calls", joined.finish);
}

TEST(OpenaiStream, ToolCallIndexesHaveNoGaps) {
  const Joined joined =
      join({calls_chunk({{{"index", 1}, {"id", "a"}, {"function", {{"name", "f"}}}}}),
            calls_chunk({{{"index", 4}, {"id", "b"}, {"function", {{"name", "g"}}}}}),
            calls_chunk({{{"index", 1}, {"function", {{"arguments", "1"}}}}}),
            calls_chunk({{{"index", 4}, {"id", "b"}, {"function", {{"arguments", "2"}}}}})});
  ASSERT_EQ(2u, joined.calls.size());
  EXPECT_EQ((schemas::ToolCall{"a", "function", "f", "1"}), joined.calls[0]);
  EXPECT_EQ((schemas::ToolCall{"b", "function", "g", "2"}), joined.calls[1]);
}

TEST(OpenaiStream, CallsThatShareAnIndexAreDistinguishedByTheirIds) {
  const Joined joined = join({calls_chunk({{{"index", 0}, {"id", "a"}, {"function", {{"name", "f"}}}}}),
                              calls_chunk({{{"index", 0}, {"id", "b"}, {"function", {{"name", "g"}}}}}),
                              chunk(Json::object(), "stop")});
  ASSERT_EQ(2u, joined.calls.size());
  EXPECT_EQ("b", joined.calls[1].id);
}

TEST(OpenaiStream, CallsThatShareAnIdAreDistinguishedByTheirIndex) {
  const Joined joined =
      join({calls_chunk({{{"index", 0}, {"id", "a"}, {"function", {{"name", "f"}}}}}),
            calls_chunk({{{"index", 1}, {"id", "a"}, {"function", {{"name", "g"}}}}}),
            calls_chunk({{{"index", 1}, {"id", "a"}, {"function", {{"arguments", "2"}}}}})});
  ASSERT_EQ(2u, joined.calls.size());
  EXPECT_EQ("a", joined.calls[0].id);
  EXPECT_TRUE(is_new_call_id(joined.calls[1].id)) << joined.calls[1].id;
  EXPECT_EQ("2", joined.calls[1].arguments);
}

TEST(OpenaiStream, AChoiceHasNoMoreToolCallsThanTheBound) {
  const auto calls = [](std::size_t first, std::size_t count) {
    Json out = Json::array();
    for (std::size_t i = first; i < first + count; ++i)
      out.push_back({{"index", i}, {"id", "c" + std::to_string(i)}, {"function", {{"name", "f"}}}});
    return calls_chunk(std::move(out));
  };
  EXPECT_TRUE(read_stream(openai(), events_of({calls(0, 1'000), calls(1'000, 24), calls(0, 1'024)})).status);
  const Streamed streamed = read_stream(openai(), events_of({calls(0, 1'000), calls(1'000, 25)}));
  ASSERT_FALSE(streamed.status);
  EXPECT_EQ(base::Code::kUpstream, streamed.status.error().code);
  EXPECT_EQ("openai/gpt-4o sent a choice of more than 1024 tool calls", streamed.status.error().message);
}

TEST(OpenaiStream, UsageIsFoundWhereverItIsSent) {
  const Json usage{{"prompt_tokens", 10},
                   {"completion_tokens", 5},
                   {"total_tokens", 15},
                   {"prompt_tokens_details", {{"cached_tokens", 4}}},
                   {"completion_tokens_details", {{"reasoning_tokens", 2}}}};
  for (const Json& more : {Json{{"usage", usage}}, Json{{"x_groq", {{"id", "r"}, {"usage", usage}}}}}) {
    const Streamed streamed =
        read_stream(openai(), events_of({chunk({{"content", "a"}}), chunk({}, "stop", more)}));
    ASSERT_TRUE(streamed.facts.usage) << more;
    EXPECT_EQ(10, streamed.facts.usage->prompt);
    EXPECT_EQ(4, streamed.facts.usage->cached);
    EXPECT_EQ(2, streamed.facts.usage->reasoning);
  }
}

TEST(OpenaiStream, ALaterZeroDoesNotReplaceACount) {
  const Json details{{"cached_tokens", 4}};
  const Json first{{"prompt_tokens", 100}, {"completion_tokens", 1}, {"prompt_tokens_details", details}};
  const Json last{{"prompt_tokens", 0}, {"completion_tokens", 7}, {"total_tokens", 7}};
  for (const bool by_tree : {false, true}) {
    Json more{{"usage", last}};
    if (by_tree) more["kept_as_it_is"] = 1;
    const Streamed streamed = read_stream(
        openai(),
        events_of({chunk({{"content", "a"}}, nullptr, Json{{"usage", first}}), chunk({}, "stop", more)}));
    ASSERT_TRUE(streamed.facts.usage);
    EXPECT_EQ(100, streamed.facts.usage->prompt) << by_tree;
    EXPECT_EQ(7, streamed.facts.usage->completion) << by_tree;
    EXPECT_EQ(107, streamed.facts.usage->total) << by_tree;
    EXPECT_EQ(4, streamed.facts.usage->cached) << by_tree;
  }
}

TEST(OpenaiStream, UsageIsReadAsFromAWholeReply) {
  for (
      const char* text :
      {R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 4}})",
       R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cache_creation_input_tokens": 4})",
       R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cache_creation_tokens": 3}})",
       R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cache_creation_tokens": 3, "cache_write_tokens": 4}})",
       R"({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 22,
            "completion_tokens_details": {"reasoning_tokens": 7}})"}) {
    const Json usage = Json::parse(text);
    const Streamed streamed = read_stream(
        openai(), events_of({chunk({{"content", "a"}}), chunk({}, "stop", Json{{"usage", usage}})}));
    EXPECT_EQ(openai_usage(usage), streamed.facts.usage) << text;
  }
}

TEST(OpenaiStream, FinishReasonsAreOpenais) {
  EXPECT_EQ("length", join({chunk({{"content", "a"}}, "model_length")}).finish);
  EXPECT_EQ("length", join({chunk({{"content", "a"}}, "pause_turn")}).finish) << "half an answer";
  EXPECT_EQ("stop", join({chunk({{"content", "a"}}, "end_turn")}).finish);
  EXPECT_EQ("content_filter", join({chunk({{"content", "a"}}, "content_filter")}).finish);
}

TEST(OpenaiStream, AnEndWithoutDoneIsWholeOnlyAfterEveryFinishReason) {
  EXPECT_TRUE(read_stream(openai(), events_of({chunk({{"content", "a"}}, "stop")})).complete);
  EXPECT_FALSE(read_stream(openai(), events_of({chunk({{"content", "a"}})})).complete);
  Json other = Json::parse(chunk({{"content", "b"}}));
  other["choices"][0]["index"] = 1;
  EXPECT_FALSE(read_stream(openai(), events_of({chunk({{"content", "a"}}, "stop"), other.dump()})).complete);
}

TEST(OpenaiStream, TheFinishReasonIsThatOfTheWholeAnswer) {
  const Json a_call = {{{"index", 0}, {"id", "a"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}}};
  for (const bool with_done : {false, true}) {
    std::vector<std::string> events = {chunk({{"content", "a"}}, "stop"), chunk({{"content", "b"}}, "stop"),
                                       chunk({{"tool_calls", a_call}}, "stop"),
                                       chunk(Json::object(), "stop")};
    if (with_done) events.emplace_back("[DONE]");
    const Streamed read = read_stream(openai(), events_of(events));
    ASSERT_TRUE(read.complete);
    ASSERT_EQ(4u, read.pieces.size());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ("", read.pieces[i].finish_reason);
    EXPECT_EQ("tool_calls", read.pieces[3].finish_reason);
  }
  for (const char* reason : {"length", "content_filter"}) {
    EXPECT_EQ(reason, join({chunk({{"content", "a"}}, "stop"), chunk({{"content", "b"}}, reason),
                            chunk(Json::object(), "stop"), "[DONE]"})
                          .finish);
  }
}

TEST(OpenaiStream, ANameAfterWholeArgumentsBeginsANewCall) {
  const auto call = [](const char* name, const char* arguments) {
    return calls_chunk({{{"index", 0}, {"function", {{"name", name}, {"arguments", arguments}}}}});
  };
  const auto names_and_arguments = [](const std::vector<std::string>& events) {
    std::string out;
    for (const schemas::ToolCall& each : join(events).calls) out += each.name + each.arguments + " ";
    return out;
  };
  EXPECT_EQ(R"(f{"a":1} g{"a":2} )",
            names_and_arguments({call("f", R"({"a":1})"), call("g", R"({"a":2})"), "[DONE]"}));
  EXPECT_EQ(R"(f{"a":1} f{"a":2} )",
            names_and_arguments({call("f", R"({"a":1})"), call("f", R"({"a":2})"), "[DONE]"}));
  EXPECT_EQ(R"(f{"a":"}"} g{} )", names_and_arguments({call("f", R"({"a":")"), call("", R"(}"})"),
                                                       call("g", "{"), call("g", "}"), "[DONE]"}));
  EXPECT_EQ(R"(f{"a":1} )",
            names_and_arguments({call("f", R"({"a")"), call("f", ":1}"), call("f", ""), "[DONE]"}));
}

TEST(OpenaiStream, ANameInPiecesIsSentWhole) {
  const auto call = [](Json function, int index = 0) {
    return calls_chunk({{{"index", index}, {"function", std::move(function)}}});
  };
  const Streamed read = read_stream(
      openai(), events_of({call({{"name", "get_"}}), call({{"name", "weather"}}), call({{"arguments", "{}"}}),
                           call({{"name", "now"}}, 1), chunk(Json::object(), "stop")}));
  ASSERT_EQ(3u, read.pieces.size());
  EXPECT_EQ("get_weather", read.pieces[1].tool_calls.at(0).name);
  EXPECT_EQ("{}", read.pieces[1].tool_calls[0].arguments);
  const Joined joined = join(read);
  ASSERT_EQ(2u, joined.calls.size());
  EXPECT_EQ("get_weather", joined.calls[0].name);
  EXPECT_EQ("now", joined.calls[1].name);
  EXPECT_EQ("tool_calls", joined.finish);
}

TEST(OpenaiStream, BlanksAroundTheEndMarkerAreIgnored) {
  for (const char* marker : {"[DONE]", "[DONE] ", " [DONE]\t"})
    EXPECT_EQ("stop", join({chunk({{"content", "a"}}), marker}).finish) << marker;
}

TEST(OpenaiStream, DoneWithoutAFinishReasonIsAStop) {
  EXPECT_EQ("stop", join({chunk({{"content", "a"}}), "[DONE]"}).finish);
}

TEST(OpenaiStream, AnEmptyStreamIsAnError) {
  const Streamed empty = read_stream(openai(), events_of({"[DONE]"}));
  EXPECT_EQ(base::Code::kUpstream, empty.status.error().code);
  EXPECT_FALSE(empty.status.error().is_content_fault);
}

TEST(OpenaiStream, FiltersBeforeTheFirstChoiceAreKeptAndNoPiece) {
  const Json filters{
      {"id", ""}, {"choices", Json::array()}, {"prompt_filter_results", {{{"prompt_index", 0}}}}};
  const Streamed streamed = read_stream(openai(), events_of({filters.dump(), chunk({{"content", "a"}})}));
  EXPECT_EQ(1u, streamed.pieces.size());
  EXPECT_EQ("c-1", streamed.facts.id);
  EXPECT_TRUE(streamed.facts.extra.contains("prompt_filter_results"));
}

TEST(OpenaiStream, UnknownMembersOfADeltaAreKept) {
  const Streamed streamed =
      read_stream(openai(), events_of({chunk({{"content", "a"}, {"annotations", {1}}, {"audio", nullptr}})}));
  EXPECT_EQ(Json({{"annotations", {1}}}), streamed.pieces.at(0).extra);
}

TEST(OpenaiStream, AnErrorInsideTheStreamEndsIt) {
  const auto first = chunk({{"content", "a"}});
  const std::string in_chunk = chunk({}, nullptr, {{"error", {{"code", 429}, {"message", "slow down"}}}});
  const Streamed openrouter = read_stream(openai(), events_of({first, in_chunk, first}));
  ASSERT_FALSE(openrouter.status);
  EXPECT_EQ(base::Code::kRateLimited, openrouter.status.error().code);
  EXPECT_NE(std::string::npos, openrouter.status.error().message.find("slow down"));
  EXPECT_EQ(1u, openrouter.pieces.size());
  const Streamed groq = read_stream(
      openai(), events_of({first}) +
                    "event: error\ndata: {\"error\":{\"message\":\"bad call\",\"status_code\":400}}\n\n");
  EXPECT_EQ(base::Code::kBadRequest, groq.status.error().code);
  const Streamed vllm =
      read_stream(openai(), events_of({R"({"object":"error","message":"too long","code":400})"}));
  EXPECT_EQ(base::Code::kBadRequest, vllm.status.error().code);
  EXPECT_FALSE(read_stream(openai(), events_of({chunk({{"content", "a"}}, "error")})).status);
}

TEST(OpenaiStream, WhatIsNoJsonObjectIsNotOfTheProtocol) {
  for (const char* data : {"hello", "[1]", "{\"choices\":", "12"})
    EXPECT_EQ(base::Code::kUpstream, read_stream(openai(), events_of({data})).status.error().code) << data;
}

TEST(OpenaiStream, WhateverTheMembersAreNothingThrows) {
  for (const char* data :
       {R"({"choices":[{"delta":[],"index":"x","finish_reason":7}]})",
        R"({"choices":[{"delta":{"content":{"a":1}}}]})",
        R"({"choices":[{"delta":{"tool_calls":[1,{"function":[]},{"function":{"name":5,"arguments":7}}]}}]})",
        R"({"choices":[1],"usage":[1],"id":5,"created":"x","x_groq":3})",
        R"({"choices":[{"delta":{"content":[1,{"type":7},{"type":"thinking","thinking":5}]}}]})",
        R"({"choices":{"a":1},"usage":{"prompt_tokens":-1,"completion_tokens":1e300}})"})
    EXPECT_TRUE(read_stream(openai(), events_of({data})).status) << data;
  EXPECT_FALSE(read_stream(openai(), events_of({R"({"choices":[{"index":100000,"delta":{}}]})"})).status);
}

TEST(OpenaiStream, AnUpstreamsMemberOfTheNameOfOurListOfPartsIsReplaced) {
  const std::string event =
      R"({"choices":[{"index":0,"delta":{"content_parts":"x"},"message":{"content":[{"type":"image"}]}}]})";
  const Streamed read = read_stream(openai(), events_of({event}));
  ASSERT_TRUE(read.status) << read.status.error().message;
  EXPECT_EQ(read.pieces.at(0).extra["content_parts"], Json::parse(R"([{"type":"image"}])"));
}

}  // namespace
}  // namespace millrace::providers::openai_stream_test
