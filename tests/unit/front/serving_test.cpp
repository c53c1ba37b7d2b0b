#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using support::wait_until;

class Serving : public Served {
 protected:
  Signal released, gone;
};

TEST_F(Serving, AnswersAGetAndKeepsTheConnection) {
  start();
  RawClient one = client();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(one.send(get("/a?b=c")));
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, "GET /a ");
    EXPECT_TRUE(reply->has("date"));
    EXPECT_FALSE(reply->has("connection"));
  }
  EXPECT_EQ(application.admitted().front().query, "b=c");
  EXPECT_EQ(application.admitted().front().peer, "127.0.0.1");
  EXPECT_EQ(server->stats().connections_total, 1u);
}

TEST_F(Serving, HeadHasTheLengthButNoBody) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("HEAD /abc HTTP/1.1\r\nHost: a\r\n\r\n" + get("/next")));
  const auto head = one.reply(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.at("content-length"), "10");
  const auto next = one.reply();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->body, "GET /next ");
}

TEST_F(Serving, StatusesWithoutBodyHaveNoLength) {
  application.on_run = [](Request, const Responder& responder) { responder.send(text_reply("lost", 204)); };
  start();
  RawClient one = client();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(one.send(get("/")));
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 204);
    EXPECT_FALSE(reply->has("content-length"));
  }
}

TEST_F(Serving, ConnectionCloseCloses) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/", "Connection: close\r\n")));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->headers.at("connection"), "close");
  EXPECT_EQ(one.until_end(), "");
}

TEST_F(Serving, Http10ClosesUnlessAskedToKeep) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  const auto kept = one.reply();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->headers.at("connection"), "keep-alive");
  ASSERT_TRUE(one.send("GET /c HTTP/1.0\r\n\r\n"));
  const auto last = one.reply();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->body, "GET /c ");
  EXPECT_TRUE(one.ends());
}

TEST_F(Serving, ContinueComesAfterAdmissionAndBeforeTheBody) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("POST /p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
  const auto interim = one.reply();
  ASSERT_TRUE(interim);
  EXPECT_EQ(interim->status, 100);
  EXPECT_EQ(application.admitted().size(), 1u);
  EXPECT_EQ(application.ran(), 0u);
  ASSERT_TRUE(one.send("hello"));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "POST /p hello");
}

TEST_F(Serving, ARefusedExpectationGetsTheRefusalAndNoContinue) {
  application.on_admit = [](const Head&) { return text_reply("no key", 401); };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("POST /p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 401);
  EXPECT_EQ(one.until_end(), "");
}

TEST_F(Serving, ARefusalWithoutABodyKeepsTheConnection) {
  application.on_admit = [](const Head& head) -> Admission {
    if (head.path == "/ok") return Admit{100, nullptr};
    return text_reply("not here", 404);
  };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/a") + get("/b") + post("/c", "") + get("/ok")));
  for (int i = 0; i < 3; ++i) {
    const auto refused = one.reply();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 404);
    EXPECT_FALSE(refused->has("connection"));
  }
  const auto ok = one.reply();
  ASSERT_TRUE(ok);
  EXPECT_EQ(ok->body, "GET /ok ");
}

TEST_F(Serving, ARefusalBeforeABodyClosesAndItsTextArrivesThoughTheClientStillSends) {
  application.on_admit = [](const Head&) { return text_reply("no key", 401); };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n"));
  one.send(std::string(900'000, 'x'));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "no key");
  EXPECT_EQ(reply->headers.at("connection"), "close");
  EXPECT_TRUE(one.ends());
  EXPECT_EQ(application.ran(), 0u);
}

TEST_F(Serving, ARequestAdmittedWithoutItsBodyRunsAtOnceAndTheBodyIsThrownAway) {
  application.on_admit = [](const Head&) { return Admit{.body_max = 1, .skip_body = true}; };
  application.on_run = [this](const Request& request, const Responder& responder) {
    EXPECT_EQ(request.body, "");
    parked.park(responder);
  };
  start();
  for (const char* framing : {"Content-Length: 900000", "Transfer-Encoding: chunked"}) {
    RawClient one = client();
    ASSERT_TRUE(one.send("POST /p HTTP/1.1\r\nHost: a\r\n" + std::string(framing) + "\r\n\r\nsome"));
    const Responder responder = parked.next();
    ASSERT_TRUE(one.send(std::string(500'000, 'x')));  // more than may be buffered behind a request
    ASSERT_TRUE(responder.send(text_reply("done")));
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, "done");
    EXPECT_EQ(reply->headers.at("connection"), "close");
    EXPECT_TRUE(one.ends());
  }
  EXPECT_EQ(application.ran(), 2u);
}

TEST_F(Serving, ARequestWithoutABodyIsNotTouchedByThat) {
  application.on_admit = [](const Head&) { return Admit{.body_max = 1, .skip_body = true}; };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/a") + get("/b")));
  EXPECT_EQ(one.reply()->body, "GET /a ");
  EXPECT_EQ(one.reply()->body, "GET /b ");
}

TEST_F(Serving, ResourcesOfAdmissionArePassedWithTheRequest) {
  application.on_admit = [&](const Head&) -> Admission {
    return Admit{100, std::shared_ptr<void>(nullptr, [&](void*) { released.set(); })};
  };
  application.on_run = [&](Request request, const Responder& responder) {
    EXPECT_FALSE(released.is_set());
    request.request_state.reset();
    EXPECT_TRUE(released.is_set());
    responder.send(text_reply("done"));
  };
  start();
  ASSERT_TRUE(send_request(post("/", "hello")));
}

TEST_F(Serving, ResourcesOfAdmissionAreReleasedIfTheClientDisconnectsWithinTheBody) {
  application.on_admit = [&](const Head&) -> Admission {
    return Admit{100, std::shared_ptr<void>(nullptr, [&](void*) { released.set(); })};
  };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhalf"));
  ASSERT_TRUE(wait_until([&] { return !application.admitted().empty(); }));
  EXPECT_FALSE(released.is_set());
  one.reset();
  EXPECT_TRUE(released.wait());
  EXPECT_EQ(application.ran(), 0u);
}

TEST_F(Serving, AnEndThatCameTogetherWithItsRequestIsNoticed) {
  application.on_run = [this](const Request& request, const Responder& responder) {
    const std::string& path = request.head.path;
    if (path == "/holds") released.wait();  // blocks the only thread that reads
    if (path != "/leaves") return static_cast<void>(responder.send(text_reply("ok")));
    responder.on_gone([this] { gone.set(); });
    parked.park(responder);
  };
  start();
  RawClient one = client(), other = client();
  ASSERT_TRUE(one.send(get("/")));
  ASSERT_TRUE(one.reply());
  ASSERT_TRUE(other.send(get("/holds")));
  ASSERT_TRUE(wait_until([&] { return application.ran() == 2; }));
  ASSERT_TRUE(one.send(get("/leaves")));
  one.half_close();
  released.set();
  EXPECT_TRUE(gone.wait());
}

TEST_F(Serving, OnlyTheFirstAnswerOfARequestCounts) {
  application.on_run = [](Request, const Responder& responder) {
    EXPECT_TRUE(responder.alive());
    EXPECT_TRUE(responder.send(text_reply("first")));
    EXPECT_FALSE(responder.alive());
    EXPECT_FALSE(responder.send(text_reply("second")));
    EXPECT_FALSE(responder.start_stream(text_reply("")));
    EXPECT_FALSE(responder.abort());
  };
  start();
  RawClient one = client();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(one.send(get("/")));
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, "first");
  }
}

TEST_F(Serving, AHeaderThatWouldBreakTheFramingIsNotSent) {
  application.on_run = [](Request, const Responder& responder) {
    Reply reply = text_reply("body");
    reply.headers = {
        {"X-Good", "1"}, {"X-Bad", "1\r\nSet-Cookie: x"}, {"X Bad", "1"}, {"Content-Length", "99"}};
    responder.send(std::move(reply));
  };
  start();
  const auto reply = send_request(get("/"));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "body");
  EXPECT_EQ(reply->headers.at("x-good"), "1");
  EXPECT_EQ(reply->headers.size(), 4u);  // Date, Content-Type and Content-Length are added
}

TEST_F(Serving, AnExceptionOfTheApplicationCostsOneConnectionOnly) {
  application.on_run = [](const Request& request, const Responder& responder) {
    if (request.head.path == "/throw") throw std::runtime_error("internal text");
    responder.send(text_reply("fine"));
  };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/throw")));
  EXPECT_EQ(one.until_end(), "");
  const auto reply = send_request(get("/"));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "fine");
  EXPECT_TRUE(wait_until([&] { return server->stats().in_flight == 0; }));
}

TEST_F(Serving, AFrontErrorIsMadeByTheApplicationAndNamesTheRequestIfItWasUnderstood) {
  start();
  const auto understood = send_request("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n");
  ASSERT_TRUE(understood);
  EXPECT_EQ(understood->body, "The Content-Length header is malformed.|POST|/p");
  const auto nonsense = send_request("nonsense\r\n\r\n");
  ASSERT_TRUE(nonsense);
  EXPECT_EQ(nonsense->body, "The request line is malformed.||");
}

TEST_F(Serving, AnErrorOfTheNextHeadKnowsNothingOfTheRequestBefore) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("HEAD /before HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(one.reply(true));
  ASSERT_TRUE(one.send("\x01"));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "The request is not HTTP/1.1.||");
}

}  // namespace
}  // namespace millrace::front::test
