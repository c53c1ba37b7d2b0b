#include "ai/providers/media_check.h"

#include <gtest/gtest.h>

#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::media_check_test {
namespace {

using schemas::Json;
using testing::target_of;

Json image(const std::string& type) {
  return {{"type", "image_url"}, {"image_url", {{"url", "data:" + type + ";base64,QUJD"}}}};
}
Json file(const std::string& type) {
  return {{"type", "file"}, {"file", {{"filename", "a"}, {"file_data", "data:" + type + ";base64,QUJD"}}}};
}
Json audio(const std::string& format) {
  return {{"type", "input_audio"}, {"input_audio", {{"data", "QUJD"}, {"format", format}}}};
}

// The error of the whole translation; empty: none.
base::Error refused(const std::string& provider, const Json& part, bool media_urls = false) {
  schemas::ChatRequest request;
  request.body = {{"messages",
                   {{{"role", "user"}, {"content", "hello"}},
                    {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "what"}}, part}}}}}};
  Target target = target_of(provider, "m");
  target.media_urls = media_urls;
  const auto wire = translation(target.preset->family).chat_request(target, request, false);
  return wire ? base::Error() : wire.error();
}

TEST(MediaCheck, AServerBehindProviderOpenaiDecidesItself) {
  Target target = target_of("openai", "m");
  target.base_url = "https://inference.example/v1";
  schemas::ChatRequest request;
  for (const Json& part : {image("image/bmp"), audio("flac")}) {
    request.body = {{"messages", {{{"role", "user"}, {"content", Json::array({part})}}}}};
    EXPECT_TRUE(check_media(target, request)) << part;
    EXPECT_FALSE(check_media(target_of("openai", "m"), request)) << part;
  }
}

TEST(MediaCheck, EachFamilyTakesTheImageTypesThatItDocuments) {
  struct Row {
    const char* provider;
    std::vector<std::string> taken;
  };
  const std::vector<std::string> usual{"image/png", "image/jpeg", "image/webp", "image/gif"};
  for (const Row& row : std::vector<Row>{
           {"openai", usual},
           {"azure", usual},
           {"mistral", usual},
           {"groq", usual},
           {"xai", {"image/png", "image/jpeg"}},
           {"anthropic", {"image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf"}},
           {"gemini",
            {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"}}}) {
    for (const std::string type :
         {"image/png", "image/jpeg", "image/webp", "image/gif", "image/heic", "image/heif", "image/bmp",
          "image/tiff", "application/pdf", "application/octet-stream", ""}) {
      const bool taken = std::find(row.taken.begin(), row.taken.end(), type) != row.taken.end();
      const base::Error error = refused(row.provider, image(type));
      EXPECT_EQ(taken, error.message.empty()) << row.provider << " " << type << " " << error.message;
      if (taken) continue;
      EXPECT_EQ(base::Code::kInvalidField, error.code) << row.provider << " " << type;
      EXPECT_EQ("messages.1.content.1", error.param) << row.provider << " " << type;
      EXPECT_NE(std::string::npos, error.message.find(type.empty() ? "an unknown type" : "'" + type + "'"));
    }
  }
}

TEST(MediaCheck, AServerOfOnesOwnDecidesItself) {
  for (const char* type : {"image/bmp", "", "application/pdf"})
    EXPECT_EQ("", refused("vllm", image(type)).message) << type;
}

TEST(MediaCheck, FilesOfAnyTypeArePassedUnlessTheyAreImagesThatAreNotTaken) {
  for (const char* provider : {"openai", "gemini", "anthropic", "vllm"}) {
    EXPECT_EQ("", refused(provider, file("application/pdf")).message) << provider;
    EXPECT_EQ("", refused(provider, file("text/plain")).message) << provider;
  }
  EXPECT_EQ("messages.1.content.1", refused("anthropic", file("image/tiff")).param);
  EXPECT_EQ("messages.1.content.1", refused("gemini", file("image/gif")).param);
}

TEST(MediaCheck, PartsWithUrlsOfMediaAreTakenWhereTheRowAllowsIt) {
  for (const std::string type : {"audio_url", "video_url"}) {
    const Json part = {{"type", type}, {type, {{"url", "https://h/a"}}}};
    for (const char* provider : {"openai", "anthropic", "gemini", "xai", "mistral", "groq", "ollama"}) {
      const base::Error error = refused(provider, part);
      EXPECT_EQ("messages.1.content.1", error.param) << provider;
      EXPECT_NE(std::string::npos, error.message.find("media_urls: true")) << error.message;
    }
    EXPECT_EQ("", refused("ollama", part, true).message);
    EXPECT_EQ("messages", refused("anthropic", part, true).param) << "there is no place for it";
  }
}

TEST(MediaCheck, OpenaiTakesTwoFormatsOfRecordings) {
  EXPECT_EQ("", refused("openai", audio("wav")).message);
  EXPECT_EQ("", refused("openai", audio("mp3")).message);
  EXPECT_EQ(
      "messages.1.content.1: the provider openai does not take recordings in the format 'flac', only wav, "
      "mp3",
      refused("openai", audio("flac")).message);
  EXPECT_EQ("", refused("vllm", audio("flac")).message);
  EXPECT_EQ("", refused("gemini", audio("flac")).message);
}

}  // namespace
}  // namespace millrace::providers::media_check_test
