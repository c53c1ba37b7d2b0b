#include <gtest/gtest.h>

#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

TEST_F(Served, AnswersAGetAndKeepsTheConnection) {
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
  EXPECT_EQ(server->stats().connections_total, 1u);
}

TEST_F(Served, AnswersAPostWithItsBody) {
  start();
  const auto reply = ask(post("/p", "hello"));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "POST /p hello");
}

}  // namespace
}  // namespace millrace::front::test
