#include <gtest/gtest.h>

#include "ai/inference/mcp/channel.h"

namespace millrace::inference {
namespace {

using Transfer = base::Result<net::HttpReply>;
constexpr std::size_t kMost = 4096;

net::HttpReply head(int status, const std::string& type, const std::string& session = {}) {
  net::HttpReply reply;
  reply.status = status;
  if (!type.empty()) reply.headers.emplace_back("content-type", type);
  if (!session.empty()) reply.headers.emplace_back("mcp-session-id", session);
  return reply;
}

// The parsed reply to request number 1.
base::Result<McpReply> read_reply(const net::HttpReply& reply, const std::string& body) {
  McpResponseReader reader(1, kMost, nullptr);
  reader.begin(reply);
  reader.take(body);
  return reader.end(Transfer(reply));
}

const net::HttpReply kEvents = head(200, "text/event-stream");
constexpr std::string_view kAnswer = "data: {\"id\":1,\"result\":{\"a\":1}}\n\n";

TEST(McpResponseReader, AJsonReplyIsReadWithItsSession) {
  const auto reply =
      read_reply(head(200, "application/json; charset=utf-8", "s1"), R"({"id":1,"result":{"a":1}})");
  ASSERT_TRUE(reply);
  EXPECT_EQ("s1", reply->session);
  EXPECT_EQ(1, reply->message.result["a"]);
}

TEST(McpResponseReader, InAStreamTheAnswerIsFoundAmongOtherMessages) {
  std::string stream = "id: 0\ndata:\n\n";
  stream += "data: {\"method\":\"notifications/progress\",\"params\":{}}\n\n";
  stream += "data: {\"id\":9,\"result\":{}}\n\n";
  stream += kAnswer;
  McpResponseReader reader(1, kMost, nullptr);
  reader.begin(kEvents);
  bool more = true;
  for (const char c : stream) more = more && reader.take(std::string_view(&c, 1));
  EXPECT_FALSE(more);
  const auto reply = reader.end(Transfer(kEvents));
  ASSERT_TRUE(reply);
  EXPECT_EQ(1, reply->message.result["a"]);
}

TEST(McpResponseReader, RequestsOfAServerArePassedOnUpToTheBound) {
  int pings = 0;
  McpResponseReader reader(1, kMost,
                           [&](const McpMessage& message) { pings += message.method == "ping" ? 1 : 0; });
  reader.begin(kEvents);
  for (int i = 0; i < kMcpServerRequestsMax; ++i)
    EXPECT_TRUE(reader.take("data: {\"id\":\"p\",\"method\":\"ping\"}\n\n"));
  EXPECT_FALSE(reader.take("data: {\"id\":\"p\",\"method\":\"ping\"}\n\n"));
  EXPECT_EQ(kMcpServerRequestsMax, pings);
  EXPECT_FALSE(reader.end(Transfer(kEvents)));
}

TEST(McpResponseReader, AStreamThatEndsBeforeTheAnswerReportsItsLastEvent) {
  McpResponseReader reader(1, kMost, nullptr);
  reader.begin(kEvents);
  EXPECT_TRUE(reader.take("id: e7\ndata:\n\n"));
  EXPECT_FALSE(reader.end(Transfer(kEvents)));
  EXPECT_EQ("e7", reader.resume_event_id());
  reader.begin(kEvents);
  EXPECT_FALSE(reader.take(kAnswer));
  EXPECT_TRUE(reader.end(Transfer(kEvents)));
  EXPECT_EQ("", reader.resume_event_id());
}

TEST(McpResponseReader, AStreamThatWasTooSlowOrTooLargeIsNotResumed) {
  for (const auto code : {base::Code::kUpstreamTimeout, base::Code::kTooLarge}) {
    McpResponseReader reader(1, kMost, nullptr);
    reader.begin(kEvents);
    EXPECT_TRUE(reader.take("id: e7\ndata:\n\n"));
    EXPECT_FALSE(reader.end(Transfer(base::error(code, "x"))));
    EXPECT_EQ("", reader.resume_event_id());
  }
}

TEST(McpResponseReader, AnErrorWithoutAnIdAnswersTheRequest) {
  const auto reply =
      read_reply(head(400, "application/json"), R"({"id":null,"error":{"code":-32000,"message":"no"}})");
  ASSERT_TRUE(reply);
  EXPECT_EQ(McpMessage::Kind::kError, reply->message.kind);
  EXPECT_EQ(400, reply->status);
}

TEST(McpResponseReader, ARefusalMayHaveAnyBody) {
  for (const char* type : {"text/html", "application/json", ""}) {
    const auto reply = read_reply(head(404, type), "<html>");
    ASSERT_TRUE(reply) << type;
    EXPECT_EQ(404, reply->status);
    EXPECT_EQ(McpMessage::Kind::kNone, reply->message.kind);
  }
}

TEST(McpResponseReader, ALostSessionIsRecognised) {
  const auto is_lost = [](int status, const char* type, const std::string& body) {
    const auto reply = read_reply(head(status, type), body);
    return reply && is_lost_session(*reply);
  };
  const auto error = [](int code, const std::string& message) {
    return R"({"id":null,"error":{"code":)" + std::to_string(code) + R"(,"message":")" + message + R"("}})";
  };
  constexpr const char* kJson = "application/json";
  EXPECT_TRUE(is_lost(404, kJson, error(-32001, "Session not found")));
  EXPECT_TRUE(is_lost(404, "text/plain", "no"));
  EXPECT_TRUE(is_lost(400, kJson, error(-32000, "Bad Request: No valid session ID provided")));
  EXPECT_TRUE(is_lost(400, kJson, error(-32600, "unknown SESSION")));
  EXPECT_TRUE(is_lost(400, "text/plain", "Invalid or missing session ID"));
  EXPECT_TRUE(is_lost(400, kJson, R"({"error":"No valid session ID"})"));
  EXPECT_TRUE(is_lost(400, "", ""));
  EXPECT_TRUE(is_lost(200, kJson, error(-32001, "Session not found")));

  EXPECT_FALSE(is_lost(400, kJson, error(-32602, "n must be a number")));
  EXPECT_FALSE(is_lost(400, kJson, error(-32602, "session_id is required")));
  EXPECT_FALSE(is_lost(400, "text/plain", "Could not parse message"));
  EXPECT_FALSE(is_lost(400, kJson, R"({"error":"bad"})"));
  const std::string of_the_call =
      R"({"id":1,"error":{"code":-32000,"message":"the browser's session ended"}})";
  EXPECT_FALSE(is_lost(200, kJson, of_the_call));  // the tool may have run
  EXPECT_FALSE(is_lost(200, kJson, error(-32602, "no session of this name")));
  EXPECT_FALSE(is_lost(200, kJson, error(-32000, "out of paper")));
  EXPECT_FALSE(is_lost(200, kJson, R"({"id":1,"result":{}})"));
  EXPECT_FALSE(is_lost(500, kJson, error(-32000, "no session")));
  EXPECT_FALSE(is_lost(401, "text/plain", "session"));
}

TEST(McpResponseReader, ASuccessThatIsNoAnswerIsAnError) {
  EXPECT_FALSE(read_reply(head(200, "text/html"), "<html>"));
  EXPECT_FALSE(read_reply(head(200, "application/json"), "<html>"));
  EXPECT_FALSE(read_reply(head(200, "application/json"), R"({"id":2,"result":{}})"));
  EXPECT_FALSE(read_reply(head(200, "application/json"), R"({"id":1,"method":"ping"})"));
  EXPECT_FALSE(read_reply(kEvents, "data: {]\n\n"));
  EXPECT_FALSE(read_reply(kEvents, "data: " + std::string(kMost + 1, 'x')));
}

TEST(McpResponseReader, ANotificationNeedsNoAnswer) {
  McpResponseReader reader(0, kMost, nullptr);
  const auto reply = reader.end(Transfer(head(202, "")));
  ASSERT_TRUE(reply);
  EXPECT_EQ(202, reply->status);
}

TEST(McpResponseReader, ARefusalOfTheGuardNamesTheServersUrl) {
  McpResponseReader reader(1, kMost, nullptr);
  const auto reply =
      reader.end(Transfer(base::error(base::Code::kFetchRefused, "document_url must use https")));
  ASSERT_FALSE(reply);
  EXPECT_EQ(base::Code::kFetchRefused, reply.error().code);
  EXPECT_EQ("the URL of the server must use https", reply.error().message);
}

}  // namespace
}  // namespace millrace::inference
