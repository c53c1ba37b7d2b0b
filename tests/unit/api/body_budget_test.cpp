#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

class BodyBudget : public Served {
 protected:
  // The head and the first byte of the body of an OCR request.
  std::string begun(const std::string& with_key, std::size_t body_bytes) {
    return "POST /v1/ocr HTTP/1.1\r\nHost: a\r\nX-API-Key: " + with_key +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body_bytes) +
           "\r\n\r\n{";
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
  first.send_text(begun(unknown_client, 100));  // within the budget for unknown keys
  ASSERT_TRUE(holds(100));
  second.send_text(begun(unknown_client, 100));  // over it
  EXPECT_EQ(second.answer().status, 401);
  EXPECT_EQ(post("/v1/ocr", std::string(1000, ' ')).status, 400);
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
