#include "api/front/framing.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::front {
namespace {

constexpr std::size_t kHeadersMax = 128;

struct Checked {
  std::optional<HeadError> refusal;
  CheckedHead head;

  int status() const { return refusal ? refusal->status : 200; }
};

Checked check(const std::string& text) {
  Checked checked;
  checked.refusal = check_head(text, kHeadersMax, checked.head);
  return checked;
}

Checked check_line(const std::string& request_line) { return check(request_line + "\r\nHost: a\r\n\r\n"); }
Checked check_header(const std::string& header) {
  return check("POST /p HTTP/1.1\r\nHost: a\r\n" + header + "\r\n\r\n");
}

HeadScan scan(std::string_view text) {
  std::size_t scanned = 0;
  return scan_head(text, scanned);
}

TEST(HeadScan, FindsTheEmptyLineWhereverThePiecesBreak) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string input = head + "GET";
  std::size_t scanned = 0;
  for (std::size_t size = 1; size < head.size(); ++size) {
    ASSERT_EQ(scan_head(std::string_view(input).substr(0, size), scanned).state, HeadState::kIncomplete)
        << size;
  }
  const HeadScan done = scan_head(input, scanned);
  EXPECT_EQ(done.state, HeadState::kComplete);
  EXPECT_EQ(done.end, head.size());
}

TEST(HeadScan, RefusesAtOnceWhatCanNeverBeAHead) {
  EXPECT_EQ(scan("\x16\x03\x01").state, HeadState::kMalformed);
  EXPECT_EQ(scan("GET / HTTP/1.1\n").state, HeadState::kMalformed);
  EXPECT_EQ(scan("GET / HTTP/1.1\r\nHost: a\n").state, HeadState::kMalformed);
  EXPECT_EQ(scan("\n").state, HeadState::kMalformed);
  EXPECT_EQ(scan(" GET / HTTP/1.1\r\n").state, HeadState::kMalformed);
}

TEST(HeadScan, CountsLeadingEmptyLines) {
  EXPECT_EQ(leading_empty_lines("\r\n\r\nGET"), 4u);
  EXPECT_EQ(leading_empty_lines("GET"), 0u);
  EXPECT_EQ(leading_empty_lines("\r"), 0u);
}

TEST(RequestLine, SplitsPathAndQueryWithoutDecodingThem) {
  const Checked checked = check_line("GET /a%20b?x=%2F&y HTTP/1.1");
  ASSERT_FALSE(checked.refusal);
  EXPECT_EQ(checked.head.head.method, "GET");
  EXPECT_EQ(checked.head.head.path, "/a%20b");
  EXPECT_EQ(checked.head.head.query, "x=%2F&y");
}

TEST(RequestLine, TakesTheAbsoluteFormAndItsHostWins) {
  const Checked checked = check_line("GET http://b:81/p?q HTTP/1.1");
  ASSERT_FALSE(checked.refusal);
  EXPECT_EQ(checked.head.head.path, "/p");
  EXPECT_EQ(checked.head.head.query, "q");
  EXPECT_EQ(checked.head.head.header("host"), "b:81");
  EXPECT_EQ(check_line("GET HTTPS://b HTTP/1.1").head.head.path, "/");
  EXPECT_EQ(check_line("GET http://b?q HTTP/1.1").head.head.query, "q");
}

TEST(RequestLine, TakesTheAsteriskOnlyForOptions) {
  EXPECT_EQ(check_line("OPTIONS * HTTP/1.1").head.head.path, "*");
  EXPECT_EQ(check_line("OPTIONS * HTTP/1.1").status(), 200);
  EXPECT_EQ(check_line("GET * HTTP/1.1").status(), 400);
}

TEST(RequestLine, TakesAnyTokenAsMethod) {
  EXPECT_EQ(check_line("BREW /pot HTTP/1.1").head.head.method, "BREW");
  EXPECT_EQ(check_line("get / HTTP/1.1").head.head.method, "get");
  EXPECT_EQ(check_line("CONNECT a:443 HTTP/1.1").status(), 200);
}

TEST(RequestLine, RefusesEverythingElse) {
  for (const char* line :
       {"GET  / HTTP/1.1", "GET / HTTP/1.2", "GET / HTTP/2.0", "GET / http/1.1", "GET /", "GET", "",
        "G@T / HTTP/1.1", "GET a HTTP/1.1", "GET ftp://a/ HTTP/1.1", "GET http:/// HTTP/1.1",
        "GET http://u@a/ HTTP/1.1", "GET /a b HTTP/1.1", "GET /\t HTTP/1.1", "GET /#f HTTP/1.1",
        "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET /\x80 HTTP/1.1", "GET / HTTP/1.1\r"}) {
    EXPECT_EQ(check_line(line).status(), 400) << line;
  }
}

TEST(Headers, AreKeptInOrderTrimmedAndFoundInAnyCase) {
  const Checked checked = check_header("X-A: \t 1 \t\r\nX-B:\r\nx-a: 2");
  ASSERT_FALSE(checked.refusal);
  ASSERT_EQ(checked.head.head.headers.size(), 4u);
  EXPECT_EQ(checked.head.head.header("x-A"), "1");
  EXPECT_EQ(checked.head.head.header("X-B"), "");
  EXPECT_EQ(checked.head.head.headers[3].value, "2");
  EXPECT_EQ(checked.head.head.header("X-C"), std::nullopt);
}

TEST(Headers, ThatPistacheCannotParseAreAccepted) {
  for (const char* header : {"Content-Type: not a type", "Accept: ///", "Date: yesterday", "Cookie: ;;=;",
                             "Cookie:", "Cache-Control: max-age=x", "Authorization: x",
                             "Set-Cookie: =", "User-Agent:", "Accept-Encoding: \"", "Last-Modified: 0",
                             "Location:", "Server: \xff"}) {
    EXPECT_EQ(check_header(header).status(), 200) << header;
  }
}

TEST(Headers, AreBoundedInNumber) {
  std::string many;
  for (std::size_t i = 1; i < kHeadersMax; ++i) many += "X: y\r\n";
  EXPECT_EQ(check("GET / HTTP/1.1\r\nHost: a\r\n" + many + "\r\n").status(), 200);
  EXPECT_EQ(check("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n" + many + "\r\n").status(), 431);
}

TEST(Framing, TakesEqualContentLengthsAndRefusesDifferentOnes) {
  EXPECT_EQ(check_header("Content-Length: 5\r\ncontent-length: 5").head.head.content_length, 5u);
  EXPECT_EQ(check_header("Content-Length: 5\r\nContent-Length: 6").status(), 400);
}

TEST(Framing, TakesOnlyChunkedAsTransferEncoding) {
  EXPECT_TRUE(check_header("Transfer-Encoding: Chunked").head.head.chunked);
  EXPECT_EQ(check_header("Transfer-Encoding: gzip, chunked").status(), 501);
  EXPECT_EQ(check_header("Transfer-Encoding: xchunked").status(), 501);
  EXPECT_EQ(check_header("Transfer-Encoding:").status(), 501);
  EXPECT_EQ(check_header("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked").status(), 400);
  EXPECT_EQ(check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").status(), 400);
}

TEST(Framing, KnowsOneExpectation) {
  EXPECT_TRUE(check_header("Expect: 100-Continue").head.expect_continue);
  EXPECT_EQ(check_header("Expect: more").status(), 417);
  EXPECT_FALSE(check("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").head.expect_continue);
}

TEST(Framing, KeepsTheConnectionAsVersionAndHeaderSay) {
  EXPECT_TRUE(check_header("X: y").head.keep_alive);
  EXPECT_FALSE(check_header("Connection: upgrade, Close").head.keep_alive);
  EXPECT_FALSE(check("GET / HTTP/1.0\r\n\r\n").head.keep_alive);
  EXPECT_TRUE(check("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(check("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n").head.keep_alive);
}

TEST(Framing, NamesTheRequestOfARefusalIfItsLineWasGood) {
  const Checked checked = check_header("Content-Length: x");
  EXPECT_EQ(checked.status(), 400);
  EXPECT_EQ(checked.head.head.path, "/p");
  EXPECT_EQ(check_line("GET nonsense HTTP/1.1").head.head.method, "");
}

}  // namespace
}  // namespace millrace::front
