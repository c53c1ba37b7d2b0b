#include "ai/providers/call.h"

#include <atomic>
#include <optional>

#include <gtest/gtest.h>

#include "tests/unit/providers/calls.h"

namespace millrace::providers::call_test {
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

TEST_F(Calls, AWholeReplyIsRead) {
  std::string head, body;
  ScriptedUpstream upstream([&](Exchange& exchange) {
    head = exchange.head;
    body = exchange.body;
    exchange.send(whole_reply(kReply));
  });
  const Reply reply = reply_of(upstream, false);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ("hi", reply->choices.at(0).content);
  EXPECT_TRUE(head.starts_with("POST /v1/chat/completions HTTP/1.1"));
  EXPECT_NE(std::string::npos, head.find("Authorization: Bearer sk-test-0123456789abcdef\r\n"));
  EXPECT_NE(std::string::npos, head.find("Content-Type: application/json\r\n"));
  EXPECT_EQ("gpt-4o", schemas::Json::parse(body)["model"]);
}

TEST_F(Calls, ConnectionsAreKept) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(whole_reply(kReply)); });
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(reply_of(upstream, false));
  EXPECT_EQ(1, upstream.connections());
}

TEST_F(Calls, AStreamIsDeliveredAsItComesAndItsConnectionKept) {
  support::Answer<int> go_on;
  auto first_received = go_on.take();
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a")}));
    EXPECT_TRUE(go_on.wait());
    exchange.send_chunk(events_of({content_event("b"), kEnd, "[DONE]"}));
    exchange.send("0\r\n\r\n");
  });
  start(upstream, true);
  EXPECT_TRUE(receives("a"));
  first_received(1);
  const Reply reply = received_.end.wait();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ("c", reply->id);
  EXPECT_TRUE(reply->choices.empty());
  EXPECT_EQ("ab", received_.content);
  ASSERT_TRUE(reply_of(upstream, true));
  EXPECT_EQ(1, upstream.connections());
}

TEST_F(Calls, AStreamSentByteByByteIsTheSame) {
  const std::string bytes = events_of({content_event("grüße"), content_event(" 😀"), kEnd, "[DONE]"});
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send(kStreamHead);
    for (const char byte : bytes) exchange.send_chunk(std::string_view(&byte, 1));
    exchange.send("0\r\n\r\n");
  });
  ASSERT_TRUE(reply_of(upstream, true));
  EXPECT_EQ("grüße 😀", received_.content);
}

TEST_F(Calls, AWholeReplyToAStreamIsDeliveredAsPieces) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(whole_reply(kReply)); });
  const Reply reply = reply_of(upstream, true);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ("hi", received_.content);
  EXPECT_TRUE(reply->choices.empty());
}

TEST_F(Calls, CallsOfAWholeReplyToAStreamKeepTheirUnknownMembers) {
  constexpr std::string_view kCall =
      R"({"id":"c","choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"1","type":"function",)"
      R"("function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]},)"
      R"("finish_reason":"tool_calls"}]})";
  ScriptedUpstream upstream([=](Exchange& exchange) { exchange.send(whole_reply(kCall)); });
  ASSERT_TRUE(reply_of(upstream, true));
  ASSERT_EQ(1u, received_.tool_calls.size());
  EXPECT_EQ("s", received_.tool_calls[0].extra["extra_content"]["google"]["thought_signature"]);
}

TEST_F(Calls, AnUpstreamWaitsWhileItsReplyIsNotRead) {
  std::atomic<bool> all_sent = false;
  constexpr int kPieces = 40, kPieceBytes = 1 << 20;  // more than two sockets buffer
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send(kStreamHead);
    for (int i = 0; i < kPieces; ++i)
      exchange.send_chunk(events_of({content_event(std::string(kPieceBytes, 'a'))}));
    all_sent = true;
    exchange.send_chunk(events_of({kEnd, "[DONE]"}));
    exchange.send("0\r\n\r\n");
  });
  received_.ready = false;
  start(upstream, true);
  EXPECT_FALSE(support::wait_until([&] { return all_sent.load(); }, milliseconds(200)));
  release();
  const Reply reply = received_.end.wait();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(static_cast<std::size_t>(kPieces) * kPieceBytes, received_.content.size());
}

TEST_F(Calls, ItIsNotTheUpstreamsSilenceWhileWeHoldItsReply) {
  timeouts_.idle = milliseconds(30);
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a"), kEnd, "[DONE]"}));
    exchange.send("0\r\n\r\n");
  });
  received_.ready = false;
  start(upstream, true);
  EXPECT_FALSE(support::wait_until([&] { return call_ == nullptr; }, milliseconds(150)));
  release();
  const Reply reply = received_.end.wait();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ("a", received_.content);
}

TEST_F(Calls, ACancelClosesTheConnectionAndNothingIsDeliveredAfterwards) {
  support::Answer<int> left;
  ScriptedUpstream upstream([report = left.take()](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a")}));
    report(exchange.client_leaves() ? 1 : 0);
    exchange.close();
  });
  start(upstream, true);
  ASSERT_TRUE(receives("a"));
  std::promise<void> cancelled;
  loop_.post([&] {
    call_->cancel();
    cancelled.set_value();
  });
  cancelled.get_future().wait();
  EXPECT_EQ(1, left.wait().value_or(0));
  EXPECT_EQ("a", received_.content);
}

TEST_F(Calls, ACallMayBeCancelledFromItsCallback) {
  support::Answer<int> left;
  ScriptedUpstream upstream([report = left.take()](Exchange& exchange) {
    exchange.send(kStreamHead);
    exchange.send_chunk(events_of({content_event("a"), content_event("b"), kEnd}));
    report(exchange.client_leaves() ? 1 : 0);
    exchange.close();
  });
  Target target = target_of("openai", "gpt-4o", upstream.base_url());
  loop_.post([&] {
    CallHandlers handlers;
    handlers.on_pieces = [this](auto&&) { call_->cancel(); };
    handlers.on_done = [](const Reply&) { ADD_FAILURE() << "on_done was called after the cancellation"; };
    auto wire = translation(Family::kOpenai).chat_request(target, testing::request_of({}), true);
    call_ = start_chat(loop_, client_, std::make_shared<const Target>(target), *std::move(wire), true,
                       limits_, std::move(handlers));
  });
  EXPECT_EQ(1, left.wait().value_or(0));
}

TEST_F(Calls, TheQueryOfABaseUrlStaysAtTheEnd) {
  std::string head;
  ScriptedUpstream upstream([&](Exchange& exchange) {
    head = exchange.head;
    exchange.send(whole_reply(kReply));
  });
  Target target = target_of("azure", "d", upstream.base_url() + "?api-version=2024-10-21");
  loop_.post([&] {
    auto wire = translation(Family::kOpenai).chat_request(target, testing::request_of({}), false);
    call_ = start_chat(loop_, client_, std::make_shared<const Target>(target), *std::move(wire), false,
                       limits_, handlers());
  });
  ASSERT_TRUE(received_.end.wait());
  EXPECT_TRUE(head.starts_with("POST /v1/chat/completions?api-version=2024-10-21 HTTP/1.1")) << head;
}

}  // namespace
}  // namespace millrace::providers::call_test
