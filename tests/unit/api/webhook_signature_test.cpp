#include "api/webhooks/webhook_signature.h"

#include <gtest/gtest.h>

#include "platform/base/base64.h"

namespace millrace::api::webhook_signature_test {
namespace {

const WebhookKeys kKeys{.hmac_key = base::base64_decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").value(),
                        .seed = std::string(32, 's')};

// The example of the specification and of its libraries.
TEST(WebhookSignature, HmacIsThatOfThePublishedExample) {
  const SignedMessage message{
      .id = "msg_p5jXN8AQM9LWM0D4loKWxJek", .timestamp = 1614265330, .body = R"({"test": 2432232314})"};
  const std::string text = webhook_signatures(kKeys, message);
  EXPECT_TRUE(text.starts_with("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,")) << text;
}

TEST(WebhookSignature, KeysComeBackOnlyForTheirEndpoint) {
  const std::string secret_key(32, 'k');
  const WebhookKeys keys = WebhookKeys::make();
  const std::string sealed = seal_keys(secret_key, "we-1", keys);
  const auto opened = unseal_keys(secret_key, "we-1", sealed);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->hmac_key, keys.hmac_key);
  EXPECT_EQ(opened->public_key(), keys.public_key());
  EXPECT_FALSE(unseal_keys(secret_key, "we-2", sealed));
  EXPECT_FALSE(unseal_keys(std::string(32, 'x'), "we-1", sealed));
  EXPECT_NE(WebhookKeys::make().hmac_key, keys.hmac_key);
}

}  // namespace
}  // namespace millrace::api::webhook_signature_test
