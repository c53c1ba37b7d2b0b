#include <gtest/gtest.h>

#include "ai/providers/call.h"
#include "ai/providers/media_call.h"
#include "tests/unit/providers/calls.h"

namespace millrace::providers::call_ends_test {
namespace {

using base::Code;
using std::chrono::milliseconds;
using testing::Calls;
using testing::content_event;
using testing::events_of;
using testing::kEnd;
using testing::kStreamHead;
using testing::Reply;
using testing::request_of;
using testing::ScriptedUpstream;
using testing::target_of;
using testing::whole_reply;
using Exchange = ScriptedUpstream::Exchange;

constexpr const char* kRetryAfter = "Retry-After: 2\r\n";

struct Bodiless {
  std::string status;
  Code code;
  milliseconds retry_after{0};
};
const std::vector<Bodiless>& bodiless() {
  static const std::vector<Bodiless> all{{"400 Bad Request", Code::kBadRequest},
                                         {"401 Unauthorized", Code::kUpstream},
                                         {"404 Not Found", Code::kModelNotFound},
                                         {"429 Too Many Requests", Code::kRateLimited, milliseconds(2'000)},
                                         {"503 Service Unavailable", Code::kOverloaded, milliseconds(2'000)},
                                         {"302 Found", Code::kUpstream}};
  return all;
}

class Ends : public Calls {
 protected:
  base::Result<std::string> send_media(ScriptedUpstream& upstream, bool stream) {
    support::Answer<std::string> end;
    const Target target = target_of("openai", "gpt-image-1", upstream.base_url());
    loop_.post([&] {
      MediaHandlers handlers;
      if (stream) handlers.on_event = [](const net::SseEvent&) { return base::Status(); };
      handlers.on_done = end.take();
      WireRequest wire;
      wire.path = "/images/generations";
      call_ = start_media(client_, target, std::move(wire), limits_, std::move(handlers));
    });
    return end.wait();
  }

  // The reply for a stream of two choices that ends after `events`. `broken`: the connection breaks.
  Reply request_two(const std::vector<std::string>& events, bool broken) {
    ScriptedUpstream upstream([&](Exchange& exchange) {
      exchange.send(kStreamHead);
      exchange.send_chunk(events_of(events));
      if (!broken) exchange.send("0\r\n\r\n");
      exchange.close();
    });
    schemas::ChatRequest two = request_of({});
    two.n = 2;
    start(target_of("openai", "gpt-4o", upstream.base_url()), true, two);
    return received_.end.wait();
  }
};

TEST_F(Ends, AnErrorWithoutABodyNamesItsStatus) {
  for (const Bodiless& sent : bodiless()) {
    ScriptedUpstream upstream(
        [&](Exchange& exchange) { exchange.send(whole_reply("", sent.status, kRetryAfter)); });
    for (const bool stream : {false, true}) {
      const Reply reply = reply_of(upstream, stream);
      ASSERT_FALSE(reply);
      EXPECT_EQ(sent.code, reply.error().code) << sent.status << ": " << reply.error().message;
      EXPECT_EQ(sent.retry_after, reply.error().retry_after) << sent.status;
      EXPECT_TRUE(reply.error().message.starts_with("openai/gpt-4o answered " + sent.status.substr(0, 3)))
          << reply.error().message;
    }
  }
}

TEST_F(Ends, AnErrorOfMediaWithoutABodyNamesItsStatus) {
  for (const Bodiless& sent : bodiless()) {
    ScriptedUpstream upstream(
        [&](Exchange& exchange) { exchange.send(whole_reply("", sent.status, kRetryAfter)); });
    for (const bool stream : {false, true}) {
      const base::Result<std::string> reply = send_media(upstream, stream);
      ASSERT_FALSE(reply) << sent.status;
      EXPECT_EQ(sent.code, reply.error().code) << sent.status << ": " << reply.error().message;
      EXPECT_EQ(sent.retry_after, reply.error().retry_after) << sent.status;
    }
  }
}

TEST_F(Ends, AStreamWithoutABodyIsBroken) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(whole_reply("", "200 OK", "Content-Type: text/event-stream\r\n"));
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_FALSE(reply);
  EXPECT_EQ("openai/gpt-4o ended its stream before the completion was over", reply.error().message);
}

TEST_F(Ends, AStreamIsOverAtItsEndWordOrSomeSilenceAfterItsFinishAlthoughTheConnectionStaysOpen) {
  const std::string anthropic =
      R"({"type":"message_start","message":{"id":"c","model":"m","usage":{"input_tokens":1}}})";
  const std::string start_of_text =
      R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}})";
  const std::string stop = R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}})";
  const std::string gemini =
      R"({"responseId":"c","candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]})";
  const std::pair<Target, std::vector<std::string>> streams[] = {
      {target_of("openai", "gpt-4o"), {content_event("a"), kEnd, "[DONE]"}},
      {target_of("openai", "without-an-end-word"), {content_event("a"), kEnd}},
      {target_of("gemini", "gemini-2.5-flash"), {gemini}},
      {target_of("anthropic", "claude-sonnet-4-5"),
       {anthropic, start_of_text, stop, R"({"type":"message_stop"})"}}};
  for (const auto& [target, events] : streams) {
    support::Answer<int> left;
    ScriptedUpstream upstream([&, report = left.take()](Exchange& exchange) {
      exchange.send(kStreamHead);
      exchange.send_chunk(events_of(events));
      report(exchange.client_leaves() ? 1 : 0);
      exchange.close();
    });
    Target here = target;
    here.base_url = upstream.base_url();
    start(std::move(here), true, request_of({}));
    const Reply reply = received_.end.wait();
    ASSERT_TRUE(reply) << target.name << ": " << reply.error().message;
    EXPECT_EQ("c", reply->id);
    EXPECT_EQ("a", received_.content);
    EXPECT_EQ(1, left.wait().value_or(0)) << target.name;
  }
}

TEST_F(Ends, WhatFollowsTheEndWordIsNotRead) {
  limits_.event_bytes_max = 4'096;
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a"), kEnd, "[DONE]"}));
    exchange.send_chunk("data: ");
    while (exchange.send_chunk(std::string(1024, 'x'))) {
    }
    exchange.close();
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ("a", received_.content);
}

TEST_F(Ends, ABrokenStreamIsWholeOnlyWithAllItsChoicesOrItsEndWord) {
  const std::string other = R"({"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]})";
  const Reply broken = request_two({content_event("a"), kEnd}, true);
  ASSERT_FALSE(broken);
  EXPECT_EQ(Code::kUpstream, broken.error().code);
  EXPECT_TRUE(request_two({content_event("a"), kEnd, other}, true));
  EXPECT_TRUE(request_two({content_event("a"), kEnd, "[DONE]"}, true));
}

TEST_F(Ends, ABrokenStreamOfGeminiIsWholeOnlyWithAllItsCandidates) {
  for (const int count : {1, 2}) {
    ScriptedUpstream upstream([](Exchange& exchange) {
      exchange.send(kStreamHead);
      exchange.send_chunk(events_of(
          {R"({"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]})"}));
      exchange.close();
    });
    start(target_of("gemini", "gemini-2.5-flash", upstream.base_url()), true,
          request_of({{"generation_config", {{"candidateCount", count}}}}));
    EXPECT_EQ(count == 1, received_.end.wait().has_value()) << count;
  }
}

TEST_F(Ends, AStreamOfFewerChoicesThanRequestedMayEndByItself) {
  EXPECT_TRUE(request_two({content_event("a"), kEnd}, false));
}

}  // namespace
}  // namespace millrace::providers::call_ends_test
