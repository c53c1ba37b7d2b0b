#include <gtest/gtest.h>

#include "app/cli/program.h"

namespace millrace::cli {
namespace {

TEST(LocalGateway, AnAddressWithOrWithoutItsSchemeIsAUrl) {
  for (const char* url : {"http://gateway", "https://x.example/base", "127.0.0.1:8080", "[::1]:8080",
                          "localhost", "gateway:80", "x.example"})
    EXPECT_EQ("", url_problem(url)) << url;
}

TEST(LocalGateway, AWordAloneAndAnotherSchemeAreNoUrl) {
  for (const char* url : {"", "foo", "foo/bar.baz", "ftp://x.example", "http://", "http:///x"})
    EXPECT_NE("", url_problem(url)) << url;
}

}  // namespace
}  // namespace millrace::cli
