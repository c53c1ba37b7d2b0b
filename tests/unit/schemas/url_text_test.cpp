#include "schemas/json/url_text.h"

#include <gtest/gtest.h>

namespace millrace::schemas::url_text_test {
namespace {

TEST(UrlText, TheHostIsWithoutUserPortAndBrackets) {
  EXPECT_EQ("h.example", url_host("https://h.example"));
  EXPECT_EQ("h.example", url_host("https://h.example:8443/p@q"));
  EXPECT_EQ("h.example", url_host("https://u:pw@h.example?a=b"));
  EXPECT_EQ("::1", url_host("http://[::1]:80/"));
  EXPECT_EQ("fe80::1", url_host("http://u@[fe80::1]"));
  EXPECT_EQ("https://u:p@[::1]:8443", url_origin("https://u:p@[::1]:8443/x?y#z"));
  EXPECT_EQ("http://h", url_origin("http://h?a=b"));
  EXPECT_EQ("http://h", url_origin("http://h"));
}

TEST(UrlText, CredentialsAreThoseBeforeTheHost) {
  EXPECT_TRUE(has_credentials("https://u:pw@h/"));
  EXPECT_TRUE(has_credentials("https://u@h"));
  EXPECT_TRUE(has_credentials("https://@h"));
  EXPECT_FALSE(has_credentials("https://h/a@b"));
  EXPECT_FALSE(has_credentials("https://h?a@b"));
}

}  // namespace
}  // namespace millrace::schemas::url_text_test
