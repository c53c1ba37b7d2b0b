#include "schemas/media/media_type.h"

#include <gtest/gtest.h>

#include "platform/base/base64.h"
#include "schemas/chat/chat_request.h"

namespace millrace::schemas::media_type_test {
namespace {

using namespace std::string_view_literals;

const std::string kPng = "\x89PNG\r\n\x1a\n" + std::string(20, '\0');
const std::string kJpeg = "\xff\xd8\xff\xe0" + std::string(20, '\0');
const std::string kWav = "RIFF" + std::string(4, '\0') + "WAVEfmt " + std::string(20, '\0');

std::string uri_of(const std::string& head, const std::string& bytes) {
  return head + base::base64_encode(bytes);
}

std::string corrected(const std::string& head, const std::string& bytes) {
  std::string uri = uri_of(head, bytes);
  correct_data_uri(uri);
  const std::size_t comma = uri.find(',');
  EXPECT_EQ(base::base64_encode(bytes), uri.substr(comma + 1)) << "the bytes stay";
  return uri.substr(0, comma + 1);
}

TEST(MediaType, IsThatOfTheFirstBytes) {
  const std::string size(4, '\x20');
  for (const auto& [bytes, type] : std::vector<std::pair<std::string, std::string_view>>{
           {kPng, "image/png"},
           {kJpeg, "image/jpeg"},
           {"GIF89a..", "image/gif"},
           {"RIFF" + size + "WEBPVP8 ", "image/webp"},
           {"BM" + size + std::string(10, '\0'), "image/bmp"},
           {std::string("II*\0", 4), "image/tiff"},
           {std::string("MM\0*", 4), "image/tiff"},
           {size + "ftypheic", "image/heic"},
           {size + "ftypmif1", "image/heif"},
           {size + "ftypavif", "image/avif"},
           {size + "ftypM4A ", "audio/mp4"},
           {size + "ftypisom", "video/mp4"},
           {"%PDF-1.7", "application/pdf"},
           {kWav, "audio/wav"},
           {"OggS....", "audio/ogg"},
           {"fLaC....", "audio/flac"},
           {"ID3\x04" + std::string(10, '\0'), "audio/mpeg"},
           {"", ""},
           {"BM", ""},
           {"ftyp", ""},
           {"RIFF", ""},
           {"plain text", ""},
           {std::string(5'000, '\0'), ""}})
    EXPECT_EQ(type, detect_media_type(bytes)) << bytes.substr(0, 12);
}

TEST(MediaType, OfADataUriIsCorrectedByTheFirstBytes) {
  for (const char* head : {"data:image/jpg;base64,", "data:image/png;base64,", "data:;base64,",
                           "data:application/octet-stream;base64,", "DATA:IMAGE/PNG;BASE64,",
                           "data:image/png;name=a.png;base64,", "data:text/plain;charset=utf-8;base64,"})
    EXPECT_EQ("data:image/jpeg;base64,", corrected(head, kJpeg)) << head;
  EXPECT_EQ("data:application/pdf;base64,", corrected("data:image/png;base64,", "%PDF-1.4\n"));
  EXPECT_EQ("data:image/png;base64,", corrected("data:image/png;base64,", kPng));
}

TEST(MediaType, OfUnknownBytesIsTheDeclaredOne) {
  EXPECT_EQ("data:image/jpeg;base64,", corrected("data:image/jpg;base64,", "ABC"));
  EXPECT_EQ("data:image/webp;base64,", corrected("data:image/webp;base64,", "A"));
  EXPECT_EQ("data:text/csv;charset=utf-8;base64,", corrected("data:TEXT/csv;charset=utf-8;BASE64,", "a,b"));
  EXPECT_EQ("data:;base64,", corrected("data:;base64,", "ABC"));
  EXPECT_EQ("data:audio/webm;base64,", corrected("data:audio/webm;base64,", "\x1a\x45\xdf\xa3 webm"));
  EXPECT_EQ("data:audio/mp4;base64,", corrected("data:audio/mp4;base64,", "1234ftypisom"));
  for (const std::string other : {"https://h/a.png", "data:image/png,raw", "", "data:"}) {
    std::string uri = other;
    correct_data_uri(uri);
    EXPECT_EQ(other, uri);
  }
}

TEST(MediaType, OfARecordingIsCorrectedUnlessItIsAnotherNameOfTheSame) {
  const auto format = [](std::string_view declared, const std::string& bytes) {
    return std::string(corrected_audio_format(declared, base::base64_encode(bytes)));
  };
  EXPECT_EQ("wav", format("mp3", kWav));
  EXPECT_EQ("wav", format("wav", kWav));
  EXPECT_EQ("x-wav", format("x-wav", kWav));
  EXPECT_EQ("m4a", format("m4a", "1234ftypM4A "));
  EXPECT_EQ("opus", format("opus", "OggS...."));
  EXPECT_EQ("ogg", format("wav", "OggS...."));
  EXPECT_EQ("wav", format("wav", "unknown"));
}

TEST(MediaType, OfEachPartOfARequestIsCorrected) {
  const std::string data = base::base64_encode(kJpeg), wav = base::base64_encode(kWav);
  const Json parts = {
      {{"type", "image_url"}, {"image_url", {{"url", "data:image/png;base64," + data}}}},
      {{"type", "image_url"}, {"image_url", "data:;BASE64," + data}},
      {{"type", "input_image"}, {"image_url", "data:image/jpg;base64," + data}},
      {{"type", "file"}, {"file", {{"file_data", "data:application/octet-stream;base64," + data}}}},
      {{"type", "input_file"}, {"file_data", "data:a/b;base64," + data}},
      {{"type", "input_audio"}, {"input_audio", {{"data", wav}, {"format", "mp3"}}}},
      {{"type", "audio_url"}, {"audio_url", "data:audio/mp3;base64," + wav}},
      {{"type", "video_url"}, {"video_url", {{"url", "https://h/v.mp4"}}}},
      {{"type", "text"}, {"text", "t"}, {"image_url", 3}, {"file", 4}, {"input_audio", 5}}};
  std::string body = Json{{"model", "m"}, {"messages", {{{"role", "user"}, {"content", parts}}}}}.dump();
  const auto request = read_chat_request(body);
  ASSERT_TRUE(request);
  const auto& content = request->body["messages"][0]["content"];
  const std::string correct = "data:image/jpeg;base64," + data;
  for (const std::size_t i : {0, 1, 2}) EXPECT_EQ(correct, content[i]["image_url"]["url"]) << i;
  for (const std::size_t i : {3, 4}) EXPECT_EQ(correct, content[i]["file"]["file_data"]) << i;
  EXPECT_EQ("wav", content[5]["input_audio"]["format"]);
  EXPECT_EQ("data:audio/wav;base64," + wav, content[6]["audio_url"]["url"]);
  EXPECT_EQ("https://h/v.mp4", content[7]["video_url"]["url"]);
  ASSERT_EQ(1u, request->urls.size());
  EXPECT_EQ("messages.0.content.7.video_url.url", request->urls[0].field);
}

}  // namespace
}  // namespace millrace::schemas::media_type_test
