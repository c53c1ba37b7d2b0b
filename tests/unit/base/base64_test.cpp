#include "platform/base/base64.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::base::base64_test {
namespace {

std::string sample(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 131 + i / 7) & 0xFF);
  return bytes;
}

struct Row {
  std::string_view bytes, text;
};

TEST(Base64, WritesAndReadsTheVectorsOfTheRfc) {
  const Row rows[] = {{"", ""},
                      {"f", "Zg=="},
                      {"fo", "Zm8="},
                      {"foo", "Zm9v"},
                      {"foob", "Zm9vYg=="},
                      {"fooba", "Zm9vYmE="},
                      {"foobar", "Zm9vYmFy"}};
  for (const Row& row : rows) {
    EXPECT_EQ(base64_encode(row.bytes), row.text);
    EXPECT_EQ(base64_decode(row.text), row.bytes);
  }
}

TEST(Base64, PaddingMayBeLeftOut) {
  EXPECT_EQ(base64_decode("Zg"), "f");
  EXPECT_EQ(base64_decode("Zm8"), "fo");
  EXPECT_EQ(base64_decode("Zm9vYmE"), "fooba");
}

TEST(Base64, WhatIsNotBase64IsRefused) {
  for (std::string_view text : {"Z", "Zm9vY", "Zg=", "Z===", "====", "=", "Zg==Zg==", "Zm8=Z", "Zm 9v",
                                "Zm9v\n", "Zm-_", "Zm9v=", "Zm=v", "Zm9\xC3", "Zg==="}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

TEST(Base64, ABadCharacterIsFoundAtEveryPlace) {
  const std::string good = base64_encode(sample(150));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = '*';
    EXPECT_FALSE(base64_decode(bad)) << i;
  }
}

TEST(Base64, OfAllBytesTheAlphabetAloneIsTakenAtEveryPlaceOfALongText) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int byte = 0; byte < 256; ++byte) {
    const std::size_t value = kAlphabet.find(static_cast<char>(byte));
    for (std::size_t place = 0; place < 64; ++place) {
      std::string text(128, 'A');
      text[place] = static_cast<char>(byte);
      const auto bytes = base64_decode(text);
      ASSERT_EQ(bytes.has_value(), value != std::string_view::npos) << byte << " at " << place;
      if (bytes) {
        ASSERT_EQ(base64_encode(*bytes), text);
      }
    }
  }
}

TEST(Base64, EveryLengthComesBack) {
  for (std::size_t size = 0; size < 300; ++size) {
    EXPECT_EQ(base64_decode(base64_encode(sample(size))), sample(size)) << size;
  }
}

// Decodes `text` in pieces of `step` bytes, each into a buffer of exactly `capacity` bytes.
std::optional<std::string> decode_in_pieces(std::string_view text, std::size_t step) {
  Base64Decoder decoder;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += step) {
    const std::string_view piece = text.substr(at, step);
    std::string buffer(Base64Decoder::capacity(piece.size()), '\0');
    const auto wrote = decoder.decode(piece, buffer.data());
    if (!wrote) return std::nullopt;
    out.append(buffer, 0, *wrote);
  }
  char tail[6];
  const auto wrote = decoder.finish(tail);
  if (!wrote) return std::nullopt;
  return out.append(tail, *wrote);
}

TEST(Base64, TextMayBeCutAnywhere) {
  for (std::size_t size : {0U, 1U, 2U, 3U, 97U, 98U, 99U, 1'000U}) {
    const std::string text = base64_encode(sample(size));
    for (std::size_t step : {1U, 2U, 3U, 4U, 5U, 7U, 31U, 33U, 64U}) {
      EXPECT_EQ(decode_in_pieces(text, step), sample(size)) << size << " bytes in pieces of " << step;
    }
  }
}

TEST(Base64, CharactersAfterThePaddingAreRefusedInALaterPieceToo) {
  for (std::size_t step : {1U, 2U, 4U}) EXPECT_FALSE(decode_in_pieces("Zg==Zm9v", step));
}

TEST(Base64, ATextCutInsideAGroupIsRefusedAtTheEnd) {
  EXPECT_FALSE(decode_in_pieces("Zm9vY", 2));
  EXPECT_FALSE(decode_in_pieces("Zm9vYg=", 3));
}

TEST(Base64, IsMeasuredWithoutKeepingWhatItDecodesTo) {
  for (const char* text : {"", "Zg==", "Zg", "Zm9v"}) EXPECT_TRUE(is_base64(text)) << text;
  for (const char* text : {"!!!!", "Zm9vY", "Zg==Zm9v", "Zm 9v"}) EXPECT_FALSE(is_base64(text)) << text;
  std::string text(10'000, 'A');
  EXPECT_TRUE(is_base64(text));
  text[9'000] = '!';
  EXPECT_FALSE(is_base64(text));
}

}  // namespace
}  // namespace millrace::base::base64_test
