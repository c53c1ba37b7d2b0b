// The table of docs/design/security.md §4: the front end's responses to invalid, ambiguous or hostile input.
#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

struct Row {
  const char* name;
  std::string input;
  int status;
};

std::string posted(const std::string& headers, const std::string& body = "") {
  return "POST /p HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body;
}

std::string chunked(const std::string& body) { return posted("Transfer-Encoding: chunked\r\n", body); }

// The head names of which a second one is refused, however it is written.
const char* const kSingle[] = {"Authorization",    "X-API-Key",       "Content-Type",
                               "Content-Encoding", "Idempotency-Key", "Range",
                               "If-Range",         "Origin",          "Last-Event-ID"};

std::string many_headers() {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 128; ++i) text += "X: y\r\n";
  return text + "\r\n";
}

const Row kRefused[] = {
    {"ContentLengthAndTransferEncoding",
     posted("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
    {"TwoContentLengths", posted("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), 400},
    {"ContentLengthAsList", posted("Content-Length: 5, 5\r\n", "hello"), 400},
    {"ContentLengthWithPlus", posted("Content-Length: +5\r\n", "hello"), 400},
    {"ContentLengthWithLetters", posted("Content-Length: 5abc\r\n", "hello"), 400},
    {"ContentLengthNegative", posted("Content-Length: -1\r\n"), 400},
    {"ContentLengthHexadecimal", posted("Content-Length: 0x5\r\n", "hello"), 400},
    {"ContentLengthEmpty", posted("Content-Length:\r\n"), 400},
    {"ContentLengthPast64Bits", posted("Content-Length: 18446744073709551621\r\n", "hello"), 400},
    {"ContentLengthHuge", posted("Content-Length: 18446744073709551615\r\n", "hello"), 413},
    {"ChunkSizeWithPrefix", chunked("0x5\r\nhello\r\n0\r\n\r\n"), 400},
    {"ChunkSizeNegative", chunked("-5\r\nhello\r\n0\r\n\r\n"), 400},
    {"ChunkSizeHuge", chunked("7fffffffffffffff\r\nhello\r\n"), 413},
    {"ChunkSizeOfAllOnes", chunked("ffffffffffffffff\r\nhello\r\n"), 400},
    {"ChunkSizeOfManyDigits", chunked(std::string(40, 'f') + "\r\nhello\r\n"), 400},
    {"ChunkSizePast64Bits", chunked("10000000000000005\r\nhello\r\n"), 400},
    {"ChunkSizeEmpty", chunked("\r\nhello\r\n0\r\n\r\n"), 400},
    {"ChunkSizeWithSpace", chunked("5 \r\nhello\r\n0\r\n\r\n"), 400},
    {"ChunkLongerThanItsSize", chunked("5\r\nhello!\r\n0\r\n\r\n"), 400},
    {"TrailerWithoutColon", chunked("0\r\nX\r\n\r\n"), 400},
    {"TrailerWithSpaceInItsName", chunked("0\r\nX y: z\r\n\r\n"), 400},
    {"TrailerThatIsARequest", chunked("0\r\nGET /second HTTP/1.1\r\n\r\n"), 400},
    {"TrailerWithFraming", chunked("0\r\nContent-Length: 5\r\n\r\nhello"), 400},
    {"TrailerWithHost", chunked("0\r\nHost: b\r\n\r\n"), 400},
    {"ChunkEndsWithBareLf", chunked("5\r\nhello\n0\r\n\r\n"), 400},
    {"SpaceBeforeColon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
    {"NoHost", "GET / HTTP/1.1\r\n\r\n", 400},
    {"TwoHosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
    {"MalformedHost", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
    {"NulInAHeaderValue", get("/", std::string("X: a\0b\r\n", 8)), 400},
    {"ControlInAHeaderValue", get("/", "X: a\x1b\r\n"), 400},
    {"BareCrInAHeaderValue", get("/", "X: a\rb\r\n"), 400},
    {"BareLf", "GET / HTTP/1.1\nHost: a\n\n", 400},
    {"FoldedHeader", get("/", "X: a\r\n b\r\n"), 400},
    {"HeaderWithoutName", get("/", ": a\r\n"), 400},
    {"HeaderWithoutColon", get("/", "X\r\n"), 400},
    {"TlsBytes", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), 400},
    {"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
    {"UnknownVersion", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", 400},
    {"NoVersion", "GET /\r\n\r\n", 400},
    {"RelativeTarget", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GzipTransferEncoding", posted("Transfer-Encoding: gzip\r\n"), 501},
    {"UnknownExpectation", posted("Expect: more\r\nContent-Length: 1\r\n"), 417},
    {"BodyOverTheLimit", posted("Content-Length: 1048577\r\n"), 413},
    {"HeadOver32KB", get("/", "X: " + std::string(33 * 1024, 'x') + "\r\n"), 431},
    {"HeadOver32KBWithoutEnd", "GET /" + std::string(33 * 1024, 'x'), 431},
    {"Over128Headers", many_headers(), 431},
};

class ParsingTable : public Served, public ::testing::WithParamInterface<Row> {};

TEST_P(ParsingTable, IsRefusedAndTheConnectionCloses) {
  start();
  RawClient one = client();
  one.send(GetParam().input + get("/second"));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, GetParam().status) << reply->body;
  EXPECT_EQ(reply->headers.at("connection"), "close");
  EXPECT_EQ(reply->headers.at("x-made-by"), "error_reply");
  EXPECT_EQ(one.until_end(), "");  // the bytes after it were not parsed as a request
  EXPECT_EQ(application.ran(), 0u);
  EXPECT_EQ(server->stats().bad_requests_total, 1u);
}

TEST_F(Served, AnErrorKnowsWhatWasReadOfTheHead) {
  start();
  for (const std::string& head : {many_headers(), get("/", "X: " + std::string(33 * 1024, 'x') + "\r\n")}) {
    const auto reply = send_request(std::string(head).insert(head.find("Host"), "X-Id: 7\r\n"));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 431);
    EXPECT_EQ(reply->headers.at("x-id"), "7");
    EXPECT_NE(reply->body.find("|GET|/"), std::string::npos) << reply->body;
  }
}

TEST_F(Served, ASecondHeaderOfASingleNameIsRefusedEvenIfItIsTheSame) {
  start();
  for (const std::string name : kSingle) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    for (const char* second : {"1", "2"}) {
      const auto reply = send_request(get("/", name + ": 1\r\nX: y\r\n" + lower + ": " + second + "\r\n"));
      ASSERT_TRUE(reply) << name;
      EXPECT_EQ(reply->status, 400) << name;
      EXPECT_NE(reply->body.find(name), std::string::npos) << reply->body;
      EXPECT_EQ(reply->headers.at("connection"), "close");
    }
    EXPECT_EQ(send_request(get("/", name + ": 1\r\n"))->status, 200) << name;
  }
  EXPECT_EQ(send_request(get("/", "Accept: a\r\nAccept: b\r\nPrefer: c\r\nPrefer: d\r\n"))->status, 200);
}

INSTANTIATE_TEST_SUITE_P(Rows, ParsingTable, ::testing::ValuesIn(kRefused),
                         [](const ::testing::TestParamInfo<Row>& row) {
                           return std::string(row.param.name);
                         });

const Row kTaken[] = {
    {"ChunkedBody", chunked("5\r\nhello\r\n0\r\n\r\n"), 200},
    {"Trailers", chunked("0\r\nX-Checksum: 1\r\nY:\r\n\r\n"), 200},
    {"LeadingEmptyLines", "\r\n\r\n" + get("/"), 200},
    {"AbsoluteForm", "GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n", 200},
    {"OptionsAsterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 200},
    {"UnknownMethod", "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
    {"EqualContentLengths", posted("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), 200},
    {"Http10WithoutHost", "GET / HTTP/1.0\r\n\r\n", 200},
    {"HeadOfAlmost32KB", get("/", "X: " + std::string(31 * 1024, 'x') + "\r\n"), 200},
};

class TakenInput : public Served, public ::testing::WithParamInterface<Row> {};

TEST_P(TakenInput, IsAnsweredWhateverThePieces) {
  start();
  const auto whole = send_request(GetParam().input);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->status, GetParam().status) << whole->body;
  if (GetParam().input.size() > 1024) return;
  RawClient slow = client();
  for (char c : GetParam().input) slow.send({&c, 1});
  const auto reply = slow.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, whole->body);
}

INSTANTIATE_TEST_SUITE_P(Rows, TakenInput, ::testing::ValuesIn(kTaken),
                         [](const ::testing::TestParamInfo<Row>& row) {
                           return std::string(row.param.name);
                         });

// The rows that are no refusals.

TEST_F(Served, TheReplyToHeadHasNoBody) {
  start();
  const auto reply = send_request("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->headers.at("content-length"), "7");  // of "HEAD / "
  EXPECT_EQ(reply->body, "");
}

TEST_F(Served, AnExpectedContinueComesBeforeTheBody) {
  start();
  RawClient one = client();
  const std::string head = posted("Expect: 100-continue\r\nContent-Length: 5\r\n");
  ASSERT_TRUE(one.send(head));
  EXPECT_EQ(one.bytes(25), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(one.send("hello"));
  EXPECT_EQ(one.reply()->body, "POST /p hello");
}

TEST_F(Served, PipelinedRequestsAreAnsweredInOrder) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/1") + post("/2", "x") + get("/3")));
  for (const char* body : {"GET /1 ", "POST /2 x", "GET /3 "}) EXPECT_EQ(one.reply()->body, body);
}

TEST_F(Served, AConnectionIsClosedAtTheRequestOfTheClient) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/", "Connection: close\r\n") + get("/second")));
  EXPECT_EQ(one.reply()->headers.at("connection"), "close");
  EXPECT_EQ(one.until_end(), "");
}

TEST_F(Served, ASlowClientGets408OrIsCut) {
  Limits limits;
  limits.head_timeout = limits.body_stall_timeout = limits.write_stall_timeout =
      std::chrono::milliseconds(200);
  application.on_run = [](Request, const Responder& responder) {
    responder.send(text_reply(std::string(50 * kMegabyte, 'x')));
  };
  start(limits);
  RawClient head = client(), body = client(), reader = client(4096);
  ASSERT_TRUE(head.send("GET / HT"));
  ASSERT_TRUE(body.send(posted("Content-Length: 100\r\n", "half")));
  ASSERT_TRUE(reader.send(get("/")));
  EXPECT_EQ(head.reply()->status, 408);
  EXPECT_EQ(body.reply()->status, 408);
  EXPECT_TRUE(support::wait_until([&] { return server->stats().timeouts_total == 3; }));
  EXPECT_FALSE(reader.reply()->complete);
}

}  // namespace
}  // namespace millrace::front::test
