#include <optional>
#include <stdexcept>

#include <gtest/gtest.h>

#include "ai/providers/call.h"
#include "tests/unit/providers/calls.h"

namespace millrace::providers::call_faults_test {
namespace {

using std::chrono::milliseconds;
using testing::Calls;
using testing::content_event;
using testing::events_of;
using testing::kEnd;
using testing::kReply;
using testing::kStreamHead;
using testing::Reply;
using testing::ScriptedUpstream;
using testing::target_of;
using testing::whole_reply;
using Exchange = ScriptedUpstream::Exchange;
using base::Code;

TEST_F(Calls, AnErrorReplyKeepsItsCodeDelayAndMessage) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(whole_reply(R"({"error":{"message":"slow down"}})", "429 Too Many Requests",
                              "Content-Type: application/json\r\nRetry-After: 2\r\n"));
  });
  for (const bool stream : {false, true}) {
    const Reply reply = reply_of(upstream, stream);
    ASSERT_FALSE(reply);
    EXPECT_EQ(Code::kRateLimited, reply.error().code);
    EXPECT_EQ(milliseconds(2'000), reply.error().retry_after);
    EXPECT_EQ("openai/gpt-4o answered 429: slow down", reply.error().message);
  }
}

TEST_F(Calls, OfAnEndlessErrorReplyOnlyTheBoundIsRead) {
  limits_.error_bytes_max = 1000;
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send("HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (exchange.send_chunk(std::string(4096, 'x'))) {
    }
    exchange.close();
  });
  const Reply reply = reply_of(upstream, false);
  ASSERT_FALSE(reply);
  EXPECT_EQ(Code::kUpstream, reply.error().code);
  EXPECT_EQ("openai/gpt-4o answered 500", reply.error().message);
}

TEST_F(Calls, HtmlIsNoReplyOfAnApi) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(whole_reply("<html>Log in</html>", "200 OK", "Content-Type: text/html\r\n"));
  });
  for (const bool stream : {false, true}) {
    const Reply reply = reply_of(upstream, stream);
    ASSERT_FALSE(reply);
    EXPECT_EQ(Code::kUpstream, reply.error().code);
    EXPECT_NE(std::string::npos, reply.error().message.find("text/html")) << reply.error().message;
  }
}

TEST_F(Calls, AStreamThatIsCutIsAnError) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    exchange.send(events_of({content_event("a")}));
    exchange.close();
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_FALSE(reply);
  EXPECT_EQ(Code::kUpstream, reply.error().code);
  EXPECT_EQ("a", received_.content);
}

TEST_F(Calls, WhatBreaksAfterTheCompletionIsOverBreaksNothing) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a"), kEnd, "[DONE]"}));
    exchange.close();
  });
  EXPECT_TRUE(reply_of(upstream, true));
}

TEST_F(Calls, ACharacterThatIsCutBetweenTwoEventsIsWhole) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(
        events_of({content_event("a\\ud83d"), content_event("\\ude00b\xf0"), kEnd, "[DONE]"}));
    exchange.close();
  });
  EXPECT_TRUE(reply_of(upstream, true));
  EXPECT_EQ("a😀b\xEF\xBF\xBD", received_.content);
}

TEST_F(Calls, WhatIsHeldWhenAStreamBreaksOffIsStillReceived) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    exchange.send(events_of({content_event("a\\ud83d")}));
    exchange.close();
  });
  EXPECT_FALSE(reply_of(upstream, true));
  EXPECT_EQ("a\xEF\xBF\xBD", received_.content);
}

TEST_F(Calls, FortyEventsInARowThatAreSplitInsideACharacterAreWhole) {
  std::vector<std::string> events(40, content_event("\\ude00\\ud83d"));
  events.front() = content_event("a\\ud83d");
  events.insert(events.end(), {content_event("\\ude00"), kEnd, "[DONE]"});
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of(events));
    exchange.close();
  });
  EXPECT_TRUE(reply_of(upstream, true));
  std::string expected = "a";
  for (int i = 0; i < 40; ++i) expected += "😀";
  EXPECT_EQ(expected, received_.content);
}

// Two times 1.2 s, with a wait of 2 s for each character.
TEST_F(Calls, EachIncompleteCharacterHasTheWholeWait) {
  support::Answer<int> second, third;
  auto send_second = second.take(), send_third = third.take();
  net::Loop::Timer pause;
  on_content_ = [&](const std::string& content) {
    if (content != "a" && content != "ab") return;
    auto& send = content == "a" ? send_second : send_third;
    pause = loop_.after(milliseconds(1'200), [&send] { send(1); });
  };
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a"), content_event("b\\ud83d")}));
    EXPECT_TRUE(second.wait());
    exchange.send_chunk(events_of({content_event("\\ude00c\\ud83d")}));
    EXPECT_TRUE(third.wait());
    exchange.send_chunk(events_of({content_event("\\ude00d"), kEnd, "[DONE]"}));
    exchange.close();
  });
  EXPECT_TRUE(reply_of(upstream, true));
  EXPECT_EQ("ab😀c😀d", received_.content);
}

TEST_F(Calls, AReaderThatPausesDoesNotEndTheWaitForACharacter) {
  limits_.split_character_wait = milliseconds(500);
  support::Answer<int> paused;
  auto send_rest = paused.take();
  net::Loop::Timer pause;
  on_content_ = [&](const std::string& content) {
    if (content != "a") return;
    received_.ready = false;
    send_rest(1);
    pause = loop_.after(milliseconds(700), [this] {
      std::unique_lock lock(received_.mutex);
      received_.ready = true;
      lock.unlock();
      call_->resume();
    });
  };
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a"), content_event("b\\ud83d")}));
    EXPECT_TRUE(paused.wait());
    exchange.send_chunk(events_of({content_event("\\ude00"), kEnd, "[DONE]"}));
    exchange.close();
  });
  EXPECT_TRUE(reply_of(upstream, true));
  EXPECT_EQ("ab😀", received_.content);
}

TEST_F(Calls, AReaderMayCancelWhenItGetsHeldText) {
  limits_.split_character_wait = milliseconds(20);
  support::Answer<int> cancelled;
  on_content_ = [&, done = cancelled.take()](const std::string&) {
    call_->cancel();
    loop_.post([done] { done(1); });
  };
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a\\ud83d")}));
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  start(upstream, true);
  EXPECT_TRUE(cancelled.wait());
  EXPECT_EQ("a\xEF\xBF\xBD", received_.content);
}

TEST_F(Calls, AnEventThatIsTooLongAfterAHeldEndBreaksNothing) {
  limits_.event_bytes_max = 4'096;
  const auto delta = [](const std::string& text) {
    return R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")" + text + "\"}}";
  };
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(
        events_of({R"({"type":"message_start","message":{"id":"m","model":"m","content":[],"usage":{}}})",
                   R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
                   delta("a\\ud83d"), R"({"type":"content_block_stop","index":0})",
                   R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}})",
                   R"({"type":"message_stop"})"}) +
        "data: " + std::string(5'000, 'x'));
    exchange.client_leaves();
    exchange.close();
  });
  start(target_of("anthropic", "claude-sonnet-4-5", upstream.base_url()), true, testing::request_of({}));
  const Reply reply = received_.end.wait();
  EXPECT_TRUE(reply) << reply.error().message;
  EXPECT_EQ("a\xEF\xBF\xBD", received_.content);
}

TEST_F(Calls, AnUpstreamThatStopsInsideACharacterHoldsTheTextBackForALimitedTime) {
  limits_.split_character_wait = milliseconds(50);
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a\\ud83d")}));
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  start(upstream, true);
  EXPECT_TRUE(receives("a\xEF\xBF\xBD"));
  loop_.post([this] { call_->cancel(); });
}

TEST_F(Calls, AFaultOfTheContentIsNoneOfTheUpstreamsHealth) {
  limits_.reply_bytes_max = 1000;
  const std::string message = R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"odd":)";
  for (const std::string& body :
       {std::string(R"({"choices":[]})"), std::string(2000, ' '), message + "1e400}", message + "[NaN]}",
        message + std::string(200, '[') + std::string(200, ']') + "}",
        std::string(R"({"choices":[{"message":{},"finish_reason":"error"}]})"),
        std::string(R"({"choices":[{"message":{"tool_calls":[]},"finish_reason":"abort"}]})")}) {
    ScriptedUpstream upstream([&](Exchange& exchange) { exchange.send(whole_reply(body)); });
    const Reply reply = reply_of(upstream, false);
    ASSERT_FALSE(reply);
    EXPECT_TRUE(reply.error().is_content_fault) << reply.error().message;
  }
  for (const std::string& body : {std::string("nonsense"), std::string(R"({"error":{"message":"broken"}})"),
                                  message + "1e400", message + std::string(200, '[')}) {
    ScriptedUpstream upstream([&](Exchange& exchange) { exchange.send(whole_reply(body)); });
    const Reply reply = reply_of(upstream, false);
    ASSERT_FALSE(reply);
    EXPECT_FALSE(reply.error().is_content_fault) << reply.error().message;
  }
}

TEST_F(Calls, AnErrorInsideAStreamEndsItAtOnce) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(
        events_of({content_event("a"), R"({"error":{"message":"out of memory"}})", content_event("b")}));
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_FALSE(reply);
  EXPECT_NE(std::string::npos, reply.error().message.find("out of memory"));
  EXPECT_EQ("a", received_.content);
}

TEST_F(Calls, AnUpstreamThatNeverAnswersIsLeftAndTheTimeOutNamed) {
  timeouts_.first_byte = milliseconds(40);
  ScriptedUpstream upstream([](Exchange& exchange) {
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  const Reply reply = reply_of(upstream, false);
  ASSERT_FALSE(reply);
  EXPECT_EQ(Code::kUpstreamTimeout, reply.error().code);
  EXPECT_EQ("openai/gpt-4o: no reply began (time-out first_byte: 40 ms)", reply.error().message);
}

TEST_F(Calls, AStreamThatStopsIsLeftAndTheTimeOutNamed) {
  timeouts_.idle = milliseconds(40);
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a")}));
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_FALSE(reply);
  EXPECT_EQ(Code::kUpstreamTimeout, reply.error().code);
  EXPECT_EQ("openai/gpt-4o: the reply stopped (time-out idle: 40 ms)", reply.error().message);
}

TEST_F(Calls, AStreamThatIsTooSlowAsAWholeIsLeftAndTheTimeOutNamed) {
  timeouts_.total = milliseconds(60);
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_FALSE(reply);
  EXPECT_EQ("openai/gpt-4o: the reply did not end (time-out total: 60 ms)", reply.error().message);
}

TEST_F(Calls, AnUnreachableAddressIsAnUpstreamError) {
  std::optional<ScriptedUpstream> upstream(std::in_place, [](Exchange&) {});
  const std::string gone = upstream->base_url();
  upstream.reset();
  Target target = target_of("openai", "gpt-4o", gone);
  loop_.post([&] {
    auto wire = translation(Family::kOpenai).chat_request(target, testing::request_of({}), false);
    call_ = start_chat(loop_, client_, std::make_shared<const Target>(target), *std::move(wire), false,
                       limits_, handlers());
  });
  EXPECT_EQ(Code::kUpstream, received_.end.wait().error().code);
}

TEST_F(Calls, AStreamThatNeverEndsIsBounded) {
  limits_.reply_bytes_max = 16'384;
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    while (exchange.send_chunk(events_of({content_event("aaaaaaaaaaaaaaaa")}))) {
    }
    exchange.close();
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_FALSE(reply);
  EXPECT_EQ(Code::kUpstream, reply.error().code);
  EXPECT_EQ("openai/gpt-4o sent a reply of more than 65536 bytes", reply.error().message);
}

TEST_F(Calls, AnEventThatNeverEndsIsBounded) {
  limits_.event_bytes_max = 4'096;
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk("data: ");
    while (exchange.send_chunk(std::string(1024, 'x'))) {
    }
    exchange.close();
  });
  const Reply reply = reply_of(upstream, true);
  ASSERT_FALSE(reply);
  EXPECT_EQ("openai/gpt-4o sent an event of more than 4096 bytes", reply.error().message);
}

// 65,536 spaces.
std::string gzipped_spaces() {
  std::string out(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xed\xc1\x81\x00\x00\x00\x00\x80\x20\x95\xfd\x29\x17\xa9\x0a",
      25);
  out.append(63, '\0').append("\x6a\x94\x19\x2c\xb4\x00\x00\x01\x00", 9);
  return out;
}

TEST_F(Calls, ACompressedReplyCountsAsWhatItBecomes) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(whole_reply(gzipped_spaces(), "200 OK",
                              "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"));
  });
  limits_.reply_bytes_max = 65'535;
  EXPECT_EQ("openai/gpt-4o sent a reply of more than 65535 bytes", reply_of(upstream, false).error().message);
  limits_.reply_bytes_max = 65'536;
  EXPECT_EQ("openai/gpt-4o sent a response that is not a reply of its API",
            reply_of(upstream, false).error().message);
}

TEST(ReadSafely, AnExceptionIsAFaultOfThisAnswer) {
  const Target target = target_of("openai", "gpt-4o");
  const Reply reply = read_safely(target, []() -> Reply { throw std::runtime_error("type must be array"); });
  ASSERT_FALSE(reply);
  EXPECT_EQ(Code::kUpstream, reply.error().code);
  EXPECT_TRUE(reply.error().is_content_fault);
  EXPECT_EQ("openai/gpt-4o sent a reply that cannot be read", reply.error().message);
}

}  // namespace
}  // namespace millrace::providers::call_faults_test
