#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "api/admission/address_shares.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

class BodyBudget : public Served {
 protected:
  // The head and the first `sent` bytes of the body of an OCR request.
  static std::string begun(const std::string& with_key, std::size_t body_bytes, std::size_t sent = 1) {
    return "POST /v1/ocr HTTP/1.1\r\nHost: a\r\nX-API-Key: " + with_key +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body_bytes) +
           "\r\n\r\n" + std::string(sent, ' ');
  }
  bool holds(int bytes) {
    const std::string line = "\nmillrace_in_flight_body_bytes " + std::to_string(bytes) + "\n";
    return support::wait_until([&] { return metrics.scrape().find(line) != std::string::npos; });
  }
  const std::string unknown_client = schemas::make_key_text();
};

TEST_F(BodyBudget, AnUnknownKeyIsRefusedWithoutItsBody) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  Connection unknown(server->port());
  unknown.send_text(begun(unknown_client, 900));
  EXPECT_EQ(unknown.answer().status, 401);
}

TEST_F(BodyBudget, BodiesOfUnknownKeysTakeNothingFromThatOfKnownOnes) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  ASSERT_EQ(get("/v1/models").status, 200);
  Connection first(server->port()), second(server->port());
  first.send_text(begun(unknown_client, 120, 100));  // within the budget for unknown keys
  ASSERT_TRUE(holds(100));
  second.send_text(begun(unknown_client, 120, 100));  // over it
  EXPECT_EQ(second.answer().status, 401);
  EXPECT_EQ(post("/v1/ocr", std::string(1000, ' ')).status, 400);
}

TEST_F(BodyBudget, OnlyBytesThatHaveArrivedAreHeld) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  ASSERT_EQ(get("/v1/models").status, 200);
  std::vector<std::unique_ptr<Connection>> slow;
  for (int i = 0; i < 8; ++i) {
    slow.push_back(std::make_unique<Connection>(server->port()));
    slow.back()->send_text(begun(owner, 900, 10));
  }
  ASSERT_TRUE(holds(80));
  EXPECT_EQ(post("/v1/ocr", std::string(900, ' ')).status, 400);
}

TEST_F(BodyBudget, ABodyThatExceedsTheBudgetOnItsWayGets503AtOnce) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  ASSERT_EQ(get("/v1/models").status, 200);
  for (const char* framing : {"Content-Length: 900\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n384\r\n"}) {
    Connection first(server->port()), second(server->port());
    first.send_text(begun(owner, 900));
    ASSERT_TRUE(holds(1));
    second.send_text("POST /v1/ocr HTTP/1.1\r\nHost: a\r\nX-Request-Id: second\r\nX-API-Key: " + owner +
                     "\r\nContent-Type: application/json\r\n" + framing + std::string(200, ' '));
    ASSERT_TRUE(holds(201));
    first.send_text(std::string(799, ' '));
    ASSERT_TRUE(holds(1000));
    second.send_text("x");
    const Answer answer = second.answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("x-request-id"), "second");
    EXPECT_EQ(answer.header("connection"), "close");
    EXPECT_TRUE(answer.has("retry-after"));
    EXPECT_NE(answer.body.find("http.body_budget"), std::string::npos) << answer.body;
    first.close();
    ASSERT_TRUE(holds(0));
  }
}

TEST_F(BodyBudget, BodiesOfOpenRoutesTakeNothingFromThoseWithAKey) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  ASSERT_EQ(get("/v1/models").status, 200);
  Connection without_key(server->port());
  without_key.send_text("GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n" +
                        std::string(125, ' '));
  ASSERT_TRUE(holds(125));
  EXPECT_EQ(post("/v1/ocr", std::string(1000, ' ')).status, 400);
  without_key.send_text(" ");
  EXPECT_EQ(without_key.answer().status, 503);
}

TEST(ByteBudget, AnOwnerTakesAtMostItsShare) {
  ByteBudget budget(100, 60);
  ByteBudget::Share one, other;
  ByteBudget::Reservation first = budget.open(&one), second = budget.open(&one), third = budget.open(&other);
  EXPECT_TRUE(first.grow(40));
  EXPECT_FALSE(budget.fits(21, &one));
  EXPECT_FALSE(second.grow(21));
  EXPECT_TRUE(second.grow(20));
  EXPECT_FALSE(third.grow(41));  // of the whole budget
  EXPECT_EQ(budget.used(), 60u);
  EXPECT_TRUE(third.grow(40));
  second.shrink(5);
  first = ByteBudget::Reservation();
  EXPECT_EQ(one.used(), 5u);
  EXPECT_EQ(budget.used(), 45u);
}

TEST(AddressShares, AnAddressHasOneShareWhileItIsHeld) {
  AddressShares shares;
  const auto held = shares.of("192.0.2.1");
  EXPECT_EQ(shares.of("192.0.2.1"), held);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(shares.of("203.0.113." + std::to_string(i)), held);
  EXPECT_EQ(shares.of("192.0.2.1"), held);
}

TEST_F(BodyBudget, AnAbsentKeyHoldsNothing) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  Connection unknown_key(server->port());
  unknown_key.send_text(begun("", 900));
  EXPECT_EQ(unknown_key.answer().status, 401);
  EXPECT_TRUE(holds(0));
}

TEST_F(BodyBudget, AnUnknownKeyWhoseBodyFindsNoCapacityGetsRetryAfter) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  const Answer first = post("/v1/ocr", std::string(900, ' '));
  EXPECT_EQ(first.status, 503);
  EXPECT_TRUE(first.has("retry-after"));
  EXPECT_EQ(post("/v1/ocr", std::string(900, ' ')).status, 400);
}

TEST_F(BodyBudget, ANewKeyWithASmallBodyWorksAtOnce) {
  start({.body_budget_bytes = 1000, .unauthenticated_budget_bytes = 125});
  EXPECT_EQ(post("/v1/ocr", "{}").status, 422);
  EXPECT_TRUE(holds(0));
}

}  // namespace
}  // namespace millrace::api::test
