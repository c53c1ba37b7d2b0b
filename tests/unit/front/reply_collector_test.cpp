#include "api/front/reply_collector.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace millrace::front {
namespace {

Reply reply_with(std::string body) {
  return {.status = 200, .content_type = "text/plain", .headers = {}, .body = std::move(body)};
}

class ReplyCollectors : public ::testing::Test {
 protected:
  std::optional<Reply> reply_;
  int calls_ = 0;
  ReplyCollector collector_{8, [this](std::optional<Reply> reply) {
                              ++calls_;
                              reply_ = std::move(reply);
                            }};
};

TEST_F(ReplyCollectors, AWholeReplyIsPassedOnOnce) {
  EXPECT_TRUE(collector_.alive());
  EXPECT_TRUE(collector_.send(reply_with("one")));
  EXPECT_FALSE(collector_.send(reply_with("two")));
  EXPECT_FALSE(collector_.start_stream(reply_with(""), ""));
  EXPECT_FALSE(collector_.alive());
  ASSERT_EQ(calls_, 1);
  EXPECT_EQ(reply_->body, "one");
}

TEST_F(ReplyCollectors, ThePiecesOfAStreamAreJoined) {
  EXPECT_TRUE(collector_.start_stream(reply_with(""), "ab"));
  EXPECT_TRUE(collector_.write("cd"));
  EXPECT_EQ(calls_, 0);
  EXPECT_TRUE(collector_.end("ef"));
  EXPECT_FALSE(collector_.write("gh"));
  ASSERT_EQ(calls_, 1);
  EXPECT_EQ(reply_->body, "abcdef");
}

TEST_F(ReplyCollectors, AReplyThatIsTooLargeIsCutOff) {
  EXPECT_TRUE(collector_.send(reply_with("123456789")));
  ASSERT_EQ(calls_, 1);
  EXPECT_FALSE(reply_);
}

TEST_F(ReplyCollectors, AStreamThatGrowsTooLargeIsCutOff) {
  EXPECT_TRUE(collector_.start_stream(reply_with(""), "12345678"));
  EXPECT_FALSE(collector_.write("9"));
  EXPECT_FALSE(collector_.end(""));
  ASSERT_EQ(calls_, 1);
  EXPECT_FALSE(reply_);
}

TEST_F(ReplyCollectors, AnAbortedStreamIsCutOff) {
  EXPECT_TRUE(collector_.start_stream(reply_with(""), "1"));
  EXPECT_TRUE(collector_.abort());
  EXPECT_FALSE(collector_.abort());
  ASSERT_EQ(calls_, 1);
  EXPECT_FALSE(reply_);
}

}  // namespace
}  // namespace millrace::front
