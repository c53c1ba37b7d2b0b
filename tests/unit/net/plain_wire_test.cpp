#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/net/http/http_text.h"
#include "platform/net/http/plain_body.h"

namespace millrace::net {
namespace {

using State = BodyFrames::State;

base::Result<ReplyFraming> framing(const std::string& fields, const std::string& line = "HTTP/1.1 200 OK",
                                   bool bodiless = false) {
  HttpReply reply;
  return read_reply_head(line + "\r\n" + fields + "\r\n", bodiless, reply);
}

bool is_refused(const std::string& fields, const std::string& line = "HTTP/1.1 200 OK") {
  const auto result = framing(fields, line);
  return !result && result.error().code == base::Code::kUpstream;
}

TEST(PlainUrl, IsParsedAndUncommonFormsAreLeftToCurl) {
  const auto url = plain_url("http://llm.local:8000/v1/chat?x=1");
  ASSERT_TRUE(url);
  EXPECT_EQ("llm.local:8000", url->authority);
  EXPECT_EQ("llm.local", url->host);
  EXPECT_EQ(8000, url->port);
  EXPECT_EQ("/v1/chat?x=1", url->target);
  EXPECT_EQ("::1", plain_url("http://[::1]:1/")->host);
  EXPECT_EQ(80, plain_url("http://[::1]")->port);
  EXPECT_EQ("?q", plain_url("http://a?q")->target);
  for (const char* left :
       {"https://a/", "HTTP://a/", "http://", "http:///x", "http://u:p@a/", "http://a:0/", "http://a:/",
        "http://a:65536/", "http://a:8x/", "http://a/#x", "http://a/ b", "http://a/\xc3\xbc",
        "http://\xc3\xbc/", "http://[::1/", "http://[fe80::1%25eth0]/", "http://[]/"})
    EXPECT_FALSE(plain_url(left)) << left;
}

TEST(PlainHead, ARequestHasTargetHeadersAndContentLength) {
  HttpRequest request;
  request.method = "POST";
  request.url = "http://a:80/v1?x";
  request.body = "{}";
  request.headers = {{"Authorization", "Bearer k"}, {"accept", "text/event-stream"}, {"X-Empty", ""}};
  const auto head = request_head(request, *plain_url(request.url));
  ASSERT_TRUE(head);
  EXPECT_EQ("POST /v1?x HTTP/1.1\r\nHost: a\r\nUser-Agent: millrace/" MILLRACE_VERSION
            "\r\nAccept-Encoding: identity\r\nAuthorization: Bearer k\r\naccept: text/event-stream\r\n"
            "Content-Length: 2\r\n\r\n",
            *head);
}

TEST(PlainHead, AnInvalidHeaderFieldIsNotSent) {
  HttpRequest request;
  request.url = "http://a/";
  for (const auto& field : std::vector<std::pair<std::string, std::string>>{
           {"X", "a\r\nY: b"}, {"X", std::string("a\0b", 3)}, {"X Y", "a"}, {"", "a"}, {"X:", "a"}}) {
    request.headers = {field};
    EXPECT_FALSE(request_head(request, *plain_url(request.url))) << field.first;
  }
}

TEST(PlainHead, FramingFollowsTheFields) {
  EXPECT_EQ(Framing::kLength, framing("Content-Length: 5\r\n")->form);
  EXPECT_EQ(5U, framing("Content-Length: 5\r\ncontent-length:5\r\n")->length);
  EXPECT_EQ(Framing::kNone, framing("Content-Length: 0\r\n")->form);
  EXPECT_EQ(Framing::kChunked, framing("Transfer-Encoding: Chunked\r\n")->form);
  EXPECT_EQ(Framing::kUntilClose, framing("")->form);
  EXPECT_FALSE(framing("")->keeps);
  EXPECT_EQ(Framing::kNone, framing("Content-Length: 5\r\n", "HTTP/1.1 200 OK", true)->form);
  for (const char* line : {"HTTP/1.1 204 No Content", "HTTP/1.1 304", "HTTP/1.1 100 Continue"})
    EXPECT_EQ(Framing::kNone, framing("", line)->form) << line;
  EXPECT_TRUE(framing("", "HTTP/1.1 103 Early Hints")->interim);
}

TEST(PlainHead, AConnectionIsKeptAsItsHeadersSpecify) {
  EXPECT_TRUE(framing("Content-Length: 5\r\n")->keeps);
  EXPECT_FALSE(framing("Content-Length: 5\r\nConnection: x, CLOSE\r\n")->keeps);
  EXPECT_FALSE(framing("Content-Length: 5\r\n", "HTTP/1.0 200 OK")->keeps);
  EXPECT_TRUE(framing("Content-Length: 5\r\nConnection: keep-alive\r\n", "HTTP/1.0 200 OK")->keeps);
}

TEST(PlainHead, AmbiguousFramingIsRejected) {
  for (const char* fields :
       {"Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n", "Content-Length: -1\r\n",
        "Content-Length: +5\r\n", "Content-Length: 5a\r\n", "Content-Length: \r\n", "Content-Length: 0x5\r\n",
        "Content-Length: 18446744073709551616\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n",
        "X: a\r\n b\r\n", " X: a\r\n", "X : a\r\n", "no colon\r\n", ": a\r\n", "X: a\nY: b\r\n",
        "X: a\x01\r\n"})
    EXPECT_TRUE(is_refused(fields)) << fields;
  for (const char* line : {"HTTP/2 200", "HTTP/1.2 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK",
                           "HTTP/1.1  200", "HTTP/1.1 099 OK", "HTTP/1.1 600 OK", "HTTP/1.1 +20 OK",
                           "ICY 200 OK", "", "HTTP/1.1 101 Switching Protocols"})
    EXPECT_TRUE(is_refused("", line)) << line;
  EXPECT_TRUE(is_refused("Transfer-Encoding: chunked\r\n", "HTTP/1.0 200 OK"));
}

TEST(PlainHead, ThereAreNoMoreFieldsThanTheBound) {
  std::string fields;
  for (std::size_t i = 0; i < kReplyFieldsMax; ++i) fields += "X: a\r\n";
  EXPECT_TRUE(framing(fields));
  EXPECT_TRUE(is_refused(fields + "X: a\r\n"));
}

// The decoded body, parsed in pieces of `step` bytes. "!" at its end: it is malformed; "…": it is incomplete.
std::string unframed(const ReplyFraming& form, std::string_view bytes, std::size_t step) {
  BodyFrames frames(form);
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    std::string_view input = bytes.substr(0, step), piece;
    for (State state = frames.next(input, piece); state != State::kMore; state = frames.next(input, piece)) {
      if (state == State::kBroken) return out + "!";
      if (state == State::kDone) return out;
      out += piece;
    }
  }
  return out + "…";
}

constexpr ReplyFraming kChunks{.form = Framing::kChunked};

TEST(PlainBody, ChunksAreTheSameWhereverTheyAreCut) {
  const std::string bytes =
      "5\r\nhello\r\n1;name=\"value\"\r\n \r\n0A  \r\n0123456789\r\n000\r\nTrailer: x\r\nAnother: "
      "y\r\n\r\nnext";
  for (std::size_t step = 1; step <= bytes.size(); ++step)
    EXPECT_EQ("hello 0123456789", unframed(kChunks, bytes, step)) << step;
}

TEST(PlainBody, AStreamThatIsCutAnywhereIsNotWhole) {
  const std::string bytes = "5\r\nhello\r\n0\r\n\r\n";
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    const std::string got = unframed(kChunks, bytes.substr(0, length), 3);
    EXPECT_TRUE(got.ends_with("…")) << length << got;
  }
  EXPECT_EQ("hel…", unframed({.form = Framing::kLength, .length = 5}, "hel", 2));
  EXPECT_EQ("hello", unframed({.form = Framing::kLength, .length = 5}, "hello, and more", 2));
}

TEST(PlainBody, MalformedChunksAreRejected) {
  for (const char* bytes : {"\r\n", "-5\r\nhello", "+5\r\nhello", "0x5\r\nhello", "g\r\n", "5\nhello",
                            "5\r\nhelloX", "5\r\nhello\n", "5\r\nhello\rX", "ffffffffffffffff\r\n",
                            "1000000000000000\r\n", "5;\x01\r\n", "0\r\nX: \x01\r\n"})
    EXPECT_TRUE(unframed(kChunks, bytes, 100).ends_with("!")) << bytes;
  EXPECT_TRUE(unframed(kChunks, "5;" + std::string(2'000, 'x'), 100).ends_with("!"));
  EXPECT_TRUE(unframed(kChunks, "0\r\nX: " + std::string(9'000, 'x'), 100).ends_with("!"));
}

}  // namespace
}  // namespace millrace::net
