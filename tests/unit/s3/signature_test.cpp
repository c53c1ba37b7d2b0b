#include "storage/s3/signature.h"

#include <gtest/gtest.h>

namespace millrace::s3::signature_test {
namespace {

// The key, the time and the signatures are the examples of Amazon's documentation of Signature Version 4 for
// S3.
const Credentials kExample{"us-east-1", base::Secret("AKIAIOSFODNN7EXAMPLE"),
                           base::Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")};
constexpr std::int64_t kExampleMs = 1'369'353'600'000;  // 2013-05-24T00:00:00Z
const std::string kNoPayload = base::hex(base::sha256(""));

std::string header_of(const HeaderPairs& headers, std::string_view name) {
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return "none";
}

std::string signature_of(SignedParts parts) {
  parts.host = "examplebucket.s3.amazonaws.com";
  const std::string text = header_of(sign(parts, kExample, base::wall_from(kExampleMs)), "authorization");
  return text.substr(text.rfind('=') + 1);
}

TEST(Signature, ReadingARange) {
  EXPECT_EQ(signature_of({.method = "GET",
                          .host = {},
                          .path = "/test.txt",
                          .query = {},
                          .payload_sha256_hex = kNoPayload,
                          .headers = {{"range", "bytes=0-9"}}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(Signature, WritingAnObjectWhosePathIsEncoded) {
  EXPECT_EQ(signature_of({.method = "PUT",
                          .host = {},
                          .path = "/test$file.text",
                          .query = {},
                          .payload_sha256_hex = base::hex(base::sha256("Welcome to Amazon S3.")),
                          .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                                      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}}),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(Signature, AParameterWithoutAValue) {
  EXPECT_EQ(signature_of({.method = "GET",
                          .host = {},
                          .path = "/",
                          .query = {{"lifecycle", ""}},
                          .payload_sha256_hex = kNoPayload}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(Signature, ParametersAreSignedInTheOrderOfTheirNames) {
  EXPECT_EQ(signature_of({.method = "GET",
                          .host = {},
                          .path = "/",
                          .query = {{"prefix", "J"}, {"max-keys", "2"}},
                          .payload_sha256_hex = kNoPayload}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Signature, TheSecretKeyIsInNoHeader) {
  for (const auto& [name, value] :
       sign({.method = "GET", .host = "h", .path = "/", .query = {}, .payload_sha256_hex = kNoPayload},
            kExample, base::wall_from(kExampleMs)))
    EXPECT_EQ(value.find(kExample.secret_key.reveal()), std::string::npos) << name;
}

TEST(Signature, ParametersAreEncodedAsTheyAreSigned) {
  EXPECT_EQ(query_text({{"token", "a/b+c=="}, {"key", "ä ~"}}), "key=%C3%A4%20~&token=a%2Fb%2Bc%3D%3D");
  EXPECT_EQ(uri_encoded("/bucket/a b", true), "/bucket/a%20b");
}

}  // namespace
}  // namespace millrace::s3::signature_test
