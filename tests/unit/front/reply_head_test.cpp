#include "api/front/reply_head.h"

#include <chrono>

#include <gtest/gtest.h>

namespace millrace::front {
namespace {

constexpr std::chrono::sys_seconds kMoment{
    std::chrono::seconds(784'111'777)};  // the date in RFC 9110's example

std::string head_of(const Reply& reply, BodyFraming framing = BodyFraming::kLength,
                    ConnectionHeader connection = ConnectionHeader::kNone) {
  return reply_head(reply, framing, reply.body.size(), connection, kMoment);
}

TEST(ReplyHead, HasStatusDateTypeLengthAndTheGivenHeaders) {
  Reply reply;
  reply.status = 404;
  reply.content_type = "application/json";
  reply.headers = {{"X-Request-Id", "r1"}};
  reply.body = "{}";
  EXPECT_EQ(
      head_of(reply),
      "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\nX-Request-Id: r1\r\n\r\n");
}

TEST(ReplyHead, InventsNoContentType) { EXPECT_EQ(head_of({}).find("Content-Type"), std::string::npos); }

TEST(ReplyHead, SaysHowTheBodyEnds) {
  EXPECT_NE(head_of({}, BodyFraming::kChunked).find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
  for (const BodyFraming framing : {BodyFraming::kUntilClose, BodyFraming::kNone, BodyFraming::kChunked}) {
    EXPECT_EQ(head_of({}, framing).find("Content-Length"), std::string::npos);
  }
}

TEST(ReplyHead, SaysWhatBecomesOfTheConnection) {
  EXPECT_EQ(head_of({}).find("Connection"), std::string::npos);
  EXPECT_NE(head_of({}, BodyFraming::kLength, ConnectionHeader::kClose).find("Connection: close\r\n"),
            std::string::npos);
  EXPECT_NE(
      head_of({}, BodyFraming::kLength, ConnectionHeader::kKeepAlive).find("Connection: keep-alive\r\n"),
      std::string::npos);
}

TEST(ReplyHead, LeavesOutWhatWouldBreakTheFraming) {
  Reply reply;
  reply.content_type = "text/plain\r\nX-Smuggled: 1";
  reply.headers = {
      {"A", "1\r\n\r\n2"}, {"B\r\nC", "1"}, {"", "1"}, {"transfer-encoding", "chunked"}, {"D", "ok"}};
  EXPECT_EQ(head_of(reply),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\nD: ok\r\n\r\n");
}

TEST(ReplyHead, AnUnknownStatusHasAnEmptyReason) {
  Reply reply;
  reply.status = 299;
  EXPECT_TRUE(head_of(reply).starts_with("HTTP/1.1 299 \r\n"));
}

}  // namespace
}  // namespace millrace::front
