#include "schemas/media/document_type.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::schemas::media_test {
namespace {

TEST(Media, IsDetectedByItsFirstBytes) {
  using namespace std::string_literals;
  EXPECT_EQ(detect_media("%PDF-1.7\n"), Media::kPdf);
  EXPECT_EQ(detect_media("junk before\n%PDF-1.4"), Media::kPdf);
  EXPECT_EQ(detect_media("\x89PNG\r\n\x1a\n\0\0"s), Media::kPng);
  EXPECT_EQ(detect_media("\xff\xd8\xff\xe0"), Media::kJpeg);
  EXPECT_EQ(detect_media("RIFF\1\2\3\4WEBPVP8 "), Media::kWebp);
}

TEST(Media, NamesAndOtherFormatsAreNotTaken) {
  EXPECT_FALSE(detect_media(""));
  EXPECT_FALSE(detect_media("report.pdf"));
  EXPECT_FALSE(detect_media("GIF89a"));
  EXPECT_FALSE(detect_media("RIFF1234WAVEfmt "));
  EXPECT_FALSE(detect_media("PK\3\4"));
}

TEST(Media, APdfHeaderBeyondTheHeadIsNone) {
  std::string text(kMediaHeadBytes, ' ');
  text.append("%PDF-1.4");
  EXPECT_FALSE(detect_media(text));
}

TEST(Media, NamesRoundTrip) {
  for (const Media media : {Media::kPdf, Media::kPng, Media::kJpeg, Media::kWebp}) {
    EXPECT_EQ(media_named(name(media)), media);
    EXPECT_FALSE(mime(media).empty());
  }
  EXPECT_FALSE(media_named("gif"));
}

}  // namespace
}  // namespace millrace::schemas::media_test
