#include "storage/s3/replies.h"

#include <gtest/gtest.h>

#include "storage/s3/location.h"

namespace millrace::s3::replies_test {
namespace {

TEST(Replies, AListingHasItsObjectsAndWhereItGoesOn) {
  const Listing listing = parse_listing(
      "<?xml version='1.0'?><ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>a&amp;b&lt;</NextContinuationToken>"
      "<Contents><Key>ab/one&amp;more</Key><LastModified>2026-11-30T09:50:25.500Z</LastModified></Contents>"
      "<Contents><Key>ab/two</Key><LastModified>2026-11-30T09:50:25Z</LastModified></Contents>"
      "<Contents><Key>ab/three</Key><LastModified>yesterday</LastModified></Contents></ListBucketResult>");
  ASSERT_EQ(listing.objects.size(), 2u) << "one has no time that can be read";
  EXPECT_EQ(listing.objects[0].key, "ab/one&more");
  EXPECT_EQ(base::rfc3339(listing.objects[0].modified).substr(0, 19), "2026-11-30T09:50:25");
  EXPECT_EQ(listing.objects[1].key, "ab/two");
  EXPECT_EQ(listing.next, "a&b<");
}

TEST(Replies, TheLastPageGoesOnNowhere) {
  EXPECT_EQ(
      parse_listing("<R><IsTruncated>false</IsTruncated><NextContinuationToken>a</NextContinuationToken></R>")
          .next,
      "");
  EXPECT_TRUE(parse_listing("<Contents><Key>cut off").objects.empty());
}

TEST(Replies, ARefusalNamesTheSettingToCorrect) {
  const auto message = [](int status, const std::string& code) {
    return reply_error(status, code.empty() ? "" : "<Error><Code>" + code + "</Code></Error>").message;
  };
  EXPECT_NE(message(403, "InvalidAccessKeyId").find("blobs.access_key"), std::string::npos);
  EXPECT_NE(message(403, "SignatureDoesNotMatch").find("blobs.secret_key"), std::string::npos);
  EXPECT_NE(message(403, "").find("blobs.access_key"), std::string::npos) << "HEAD has no body";
  EXPECT_NE(message(404, "NoSuchBucket").find("blobs.url"), std::string::npos);
  EXPECT_NE(message(500, "InternalError").find("status 500 (InternalError)"), std::string::npos);
}

TEST(Replies, OnlyAMissingObjectIsNotFound) {
  EXPECT_EQ(reply_error(404, "<Error><Code>NoSuchKey</Code></Error>").code, base::Code::kNotFound);
  EXPECT_EQ(reply_error(404, "").code, base::Code::kNotFound);
  const base::Error bucket = reply_error(404, "<Error><Code>NoSuchBucket</Code></Error>");
  EXPECT_EQ(bucket.code, base::Code::kOverloaded) << "accepted work waits until it is there again";
  EXPECT_GT(bucket.retry_after.count(), 0);
}

TEST(S3Location, ABucketAPrefixAndAnEndpoint) {
  const Location whole = parse_location("s3://millrace/a/b/", "https://s3.lan:9000/").value();
  EXPECT_EQ(whole.bucket, "millrace");
  EXPECT_EQ(whole.prefix, "a/b/");
  EXPECT_EQ(whole.endpoint, "https://s3.lan:9000");
  EXPECT_EQ(whole.host, "s3.lan:9000");
  EXPECT_EQ(parse_location("s3://millrace", "http://[::1]:9000")->host, "[::1]:9000");
}

TEST(S3Location, ADefaultPortIsLeftOutAsInTheHeaderHost) {
  EXPECT_EQ(parse_location("s3://millrace", "https://s3.lan:443")->endpoint, "https://s3.lan");
  EXPECT_EQ(parse_location("s3://millrace", "http://s3.lan:80")->host, "s3.lan");
  EXPECT_EQ(parse_location("s3://millrace", "http://s3.lan:443")->host, "s3.lan:443");
}

TEST(S3Location, WhatIsWrongIsNamedByItsSetting) {
  for (const char* url : {"", "millrace", "s3://", "s3://ab", "s3://Upper", "s3://a..b", "s3://millrace/a//b",
                          "s3://millrace/../b", "s3://millrace/a b", "s3://millrace/a?b"}) {
    const auto refused = parse_location(url, "http://s3.lan");
    ASSERT_FALSE(refused) << url;
    EXPECT_EQ(refused.error().param, "blobs.url") << url;
  }
  for (const char* endpoint : {"", "s3.lan", "ftp://s3.lan", "http://", "http://s3.lan/path",
                               "http://user:pass@s3.lan", "http://s3 lan"}) {
    const auto refused = parse_location("s3://millrace", endpoint);
    ASSERT_FALSE(refused) << endpoint;
    EXPECT_EQ(refused.error().param, "blobs.endpoint") << endpoint;
  }
}

}  // namespace
}  // namespace millrace::s3::replies_test
