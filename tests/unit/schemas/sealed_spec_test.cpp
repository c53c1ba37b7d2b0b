#include "schemas/jobs/sealed_spec.h"

#include <gtest/gtest.h>

#include "schemas/chat/chat_request.h"
#include "schemas/jobs/job_name.h"
#include "schemas/json/json_body.h"
#include "schemas/media/ocr.h"

namespace millrace::schemas {
namespace {

using schemas::Json;

const std::string kKey(32, 'k');

Json user(const std::string& text) { return Json::array({{{"role", "user"}, {"content", text}}}); }

ChatRequest chat(const Json& more = Json::object()) {
  Json body = {{"model", "m"}, {"messages", user("say  hello")}};
  body.update(more);
  std::string text = body.dump();
  text.reserve(text.size() + kJsonPadding);
  return parse_chat_request(text).value();
}

bool holds_secrets(const Json& more) {
  const ChatRequest request = chat(more);
  return may_hold_secrets(request, chat_spec(request));
}

TEST(SealedSpec, IsOpenedWithItsKeyAndTenantOnly) {
  const std::string spec = chat_spec(chat());
  const std::string stored = seal_spec(kKey, "a", Kind::kChat, spec);
  EXPECT_TRUE(is_sealed(stored));
  EXPECT_EQ(stored.find("messages"), std::string::npos);
  EXPECT_EQ(open_spec(kKey, "a", stored).value(), spec);
  EXPECT_FALSE(open_spec(kKey, "b", stored).has_value());
  const auto refused = open_spec(std::string(32, 'x'), "a", stored);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is_permanent);
  for (const std::size_t size : {stored.size() - 1, stored.find('\0') + 1, stored.find('\0')})
    EXPECT_FALSE(open_spec(kKey, "a", stored.substr(0, size)).has_value()) << size;
}

TEST(SealedSpec, PlainSpecsAreReadAsTheyAre) {
  OcrSpec spec;
  spec.model = "m";
  spec.inline_document = "%PDF";
  for (const std::string& plain : {pack(spec), chat_spec(chat()), std::string()})
    EXPECT_EQ(open_spec(kKey, "a", plain).value(), plain);
}

TEST(SealedSpec, TheNameOfTheJobStaysReadable) {
  EXPECT_EQ(job_name(Kind::kChat, seal_spec(kKey, "a", Kind::kChat, chat_spec(chat()))), "say hello");
  OcrSpec spec;
  spec.model = "m";
  spec.document_name = "a \"b\"\n ü.pdf";
  EXPECT_EQ(job_name(Kind::kOcr, seal_spec(kKey, "a", Kind::kOcr, pack(spec))), spec.document_name);
  const std::string asks = chat_spec(chat({{"messages", user("read https://a.example/b?sig=1 now")}}));
  EXPECT_EQ(job_name(Kind::kChat, seal_spec(kKey, "a", Kind::kChat, asks)),
            "read https://a.example/b?*** now");
  spec.document_name.clear();
  EXPECT_EQ(job_name(Kind::kOcr, seal_spec(kKey, "a", Kind::kOcr, pack(spec))), "");
}

TEST(SealedSpec, AChatMayHoldSecretsIfItHasAUrlOrAnUnknownMember) {
  EXPECT_FALSE(holds_secrets({{"temperature", 1}, {"messages", user("what is 1 // 2?")}}));
  EXPECT_FALSE(holds_secrets(
      {{"tools", Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{}}}])")}}));
  EXPECT_TRUE(holds_secrets({{"mcp_servers", Json::parse(R"([{"url":"https://a.example/?t=1"}])")}}));
  EXPECT_TRUE(holds_secrets({{"messages", user("read https://a.example/?t=1")}}));
  EXPECT_TRUE(holds_secrets({{"a_token", "t"}}));
}

}  // namespace
}  // namespace millrace::schemas
