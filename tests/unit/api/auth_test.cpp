#include "api/admission/auth.h"

#include <gtest/gtest.h>

#include "api/admission/keys.h"
#include "api/headers.h"
#include "platform/base/crypto.h"

namespace millrace::api {
namespace {

TEST(KeyMac, APreparedHmacIsTheSameHmac) {
  for (const std::size_t size : {0, 1, 63, 64, 65, 200}) {
    const std::string pepper(size, 'p');
    const base::HmacSha256 prepared(pepper);
    for (const std::string& text : {std::string(), std::string("mr_live_x"), std::string(1000, 'm')}) {
      EXPECT_EQ(prepared.mac(text), base::hmac_sha256(pepper, text)) << size;
    }
  }
}

TEST(Headers, PreferIsReadAsRfc7240) {
  front::Head head;
  head.headers = {{"Prefer", "Respond-Async, wait=30; foo"}};
  EXPECT_TRUE(prefer(head).respond_async);
  EXPECT_EQ(prefer(head).wait, std::chrono::seconds(30));
  head.headers = {{"Prefer", "wait=-1"}};
  EXPECT_FALSE(prefer(head).wait.has_value());
  head.headers = {{"Prefer", "wait=x"}};
  EXPECT_FALSE(prefer(head).wait.has_value());
}

}  // namespace
}  // namespace millrace::api
