#include <string>

#include <gtest/gtest.h>

#include "tests/unit/api/audio.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;

class UnknownModels : public Audio {
 protected:
  static void expect_hint(const Answer& answer, const std::string& name) {
    EXPECT_EQ(answer.status, 404) << answer.body;
    const json error = answer.json()["error"];
    EXPECT_EQ(error["code"], "model_not_found");
    EXPECT_EQ(error["param"], "model");
    const std::string message = error["message"];
    EXPECT_EQ(message.find("there is no model '" + name + "'"), 0u) << message;
    EXPECT_NE(message.find("GET /v1/models lists the models"), std::string::npos) << message;
  }
};

TEST_F(UnknownModels, AreAnsweredByEachEndpointWithTheListOfModels) {
  start();
  const std::pair<const char*, const char*> bodies[] = {
      {"/v1/chat/completions", R"("messages":[{"role":"user","content":"x"}])"},
      {"/v1/embeddings", R"("input":"x")"},
      {"/v1/images/generations", R"("prompt":"x")"},
      {"/v1/audio/speech", R"("input":"x","voice":"kal")"},
      {"/v1/ocr", R"("document":{"type":"document_url","document_url":"https://example.com/a.pdf"})"}};
  for (const char* name : {"zzzzzzzzzzzz", "groq/llama"}) {
    for (const auto& [path, rest] : bodies)
      expect_hint(post(path, R"({"model":")" + std::string(name) + R"(",)" + rest + "}"), name);
    expect_hint(transcribe(FormText().field("model", name).file(wav_of(99))), name);
    expect_hint(get("/v1/models/" + std::string(name)), name);
  }
  expect_hint(get("/v1/models/millrace/orc"), "millrace/orc");
}

TEST_F(UnknownModels, ALongNameIsCut) {
  start();
  const Answer answer = get("/v1/models/" + std::string(5'000, 'x'));
  EXPECT_EQ(answer.status, 404);
  EXPECT_LT(answer.body.size(), 600u);
}

}  // namespace
}  // namespace millrace::api::test
