#include <gtest/gtest.h>

#include "ai/providers/audio.h"
#include "ai/providers/media.h"
#include "ai/providers/ocr.h"
#include "tests/unit/providers/family_cases.h"

// Replies whose text has a lone surrogate or a byte that is not UTF-8.
namespace millrace::providers::broken_replies_test {
namespace {

using testing::target_of;

constexpr std::string_view kRepaired = "a\xEF\xBF\xBD";

std::vector<std::string> broken(const std::string& body) {
  std::vector<std::string> out;
  for (const std::string& half : {std::string(R"(\ud83d)"), std::string("\xff"), std::string("\xf0\x9f")}) {
    std::string text = body;
    out.push_back(text.replace(text.find('$'), 1, half));
  }
  return out;
}

TEST(BrokenReplies, ATranscriptIsRead) {
  for (const std::string& body : broken(R"({"text":"a$","segments":[]})")) {
    const auto transcript = transcription_reply(target_of("openai", "whisper-1"), body);
    ASSERT_TRUE(transcript) << body;
    EXPECT_EQ(transcript->text, kRepaired);
  }
}

TEST(BrokenReplies, PagesAreRead) {
  for (const std::string& body : broken(R"({"pages":[{"index":0,"markdown":"a$"}]})")) {
    const auto pages = ocr_reply(target_of("mistral", "mistral-ocr-latest"), body);
    ASSERT_TRUE(pages) << body;
    ASSERT_EQ(pages->size(), 1u);
    EXPECT_EQ(pages->front().markdown, kRepaired);
  }
}

TEST(BrokenReplies, EmbeddingsAreRead) {
  for (const std::string& body :
       broken(R"({"model":"a$","data":[{"index":0,"embedding":[0.5,0.25]}],"usage":{}})")) {
    const auto reply = embedding_reply(target_of("openai", "text-embedding-3-small"), body, 1);
    ASSERT_TRUE(reply) << body;
    EXPECT_EQ(reply->model, kRepaired);
    EXPECT_EQ(reply->vectors.front(), (schemas::Vector{0.5F, 0.25F}));
  }
}

TEST(BrokenReplies, AnErrorMessageIsRepaired) {
  for (const std::string& body : broken(R"({"error":{"message":"a$"}})")) {
    const base::Error error = upstream_error(target_of("openai", "m"), 500, {}, body);
    EXPECT_TRUE(error.message.ends_with(kRepaired)) << error.message;
  }
}

}  // namespace
}  // namespace millrace::providers::broken_replies_test
