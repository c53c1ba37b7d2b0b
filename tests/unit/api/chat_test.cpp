#include <regex>

#include "schemas/chat/chat_job.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;
using schemas::Kind;

constexpr const char* kChat = "/v1/chat/completions";

json request(json more = json::object()) {
  json out = {{"model", "mock/chat"},
              {"messages", json::array({{{"role", "user"}, {"content", "one two three"}}})}};
  out.update(more);
  return out;
}

class ApiChat : public Served {
 protected:
  void SetUp() override { start({.chat_heartbeat = std::chrono::hours(1)}); }
  Answer chat_with(const json& more = json::object(), const std::string& headers = {}) {
    return post(kChat, request(more).dump(), headers);
  }
  std::string deferred(const json& more = json::object(), const std::string& headers = {}) {
    json body = more;
    body["deferred"] = true;
    const Answer made = chat_with(body, headers);
    EXPECT_EQ(made.status, 200) << made.body;
    return made.json().value("request_id", "");
  }
  Answer later(const std::string& id) { return get("/v1/chat/deferred-completion/" + id); }
};

std::vector<std::string> events(const std::string& body) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < body.size()) {
    const std::size_t end = body.find("\n\n", at);
    EXPECT_NE(end, std::string::npos) << "the last event is incomplete";
    if (end == std::string::npos) break;
    out.push_back(body.substr(at, end - at));
    at = end + 2;
  }
  return out;
}

TEST_F(ApiChat, AModelThatDoesSomethingElseIs400AtEveryEndpoint) {
  const std::pair<const char*, json> asked[] = {
      {kChat, request({{"model", "millrace/ocr"}})},
      {kChat, request({{"model", "whisper-1"}})},
      {kChat, request({{"model", "mock/embedding"}})},
      {"/v1/embeddings", {{"model", "millrace/ocr"}, {"input", "x"}}},
      {"/v1/embeddings", {{"model", "mock/chat"}, {"input", "x"}}},
      {"/v1/images/generations", {{"model", "millrace/flite"}, {"prompt", "x"}}},
      {"/v1/audio/speech", {{"model", "millrace/ocr"}, {"input", "x"}, {"voice", "alloy"}}},
      {"/v1/ocr", {{"model", "mock/chat"}, {"document", {{"document_url", "https://a.example/x.pdf"}}}}}};
  for (const auto& [path, body] : asked) {
    const Answer answer = post(path, body.dump());
    EXPECT_EQ(answer.status, 400) << path << answer.body;
    const json error = answer.json()["error"];
    EXPECT_EQ(error["param"], "model") << path;
    const std::string begin = "model '" + body["model"].get<std::string>() + "' does not ";
    EXPECT_TRUE(error["message"].get<std::string>().starts_with(begin)) << path << answer.body;
  }
  EXPECT_EQ(chat_with({{"model", "millrace/none"}}).status, 404);
}

TEST_F(ApiChat, AModelIsFoundByEachNameThatItsEndpointTakes) {
  for (const char* name :
       {"whisper-1", "gpt-4o-transcribe", "tts-1", "mistral-ocr-latest", "millrace/sphinx-en", "mock/chat"}) {
    const Answer answer = get(std::string("/v1/models/") + name);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["id"], name);
  }
}

TEST_F(ApiChat, AWholeCompletionReportsItsModelAndAttempts) {
  const Answer answer = chat_with();
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json body = answer.json();
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["choices"][0]["message"]["role"], "assistant");
  EXPECT_TRUE(body["choices"][0]["message"]["content"].is_string());
  EXPECT_TRUE(body["usage"]["total_tokens"].is_number());
  EXPECT_EQ(answer.header("x-millrace-model"), "mock/chat");
  EXPECT_EQ(answer.header("x-millrace-attempts"), "1");
}

TEST_F(ApiChat, AStreamIsUnnamedEventsOfOneIdThatEndWithDone) {
  const Answer answer = chat_with({{"stream", true}, {"stream_options", {{"include_usage", true}}}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.header("cache-control"), "no-cache");
  EXPECT_EQ(answer.header("x-accel-buffering"), "no");
  std::vector<std::string> all = events(answer.body);
  ASSERT_GE(all.size(), 4u);
  EXPECT_EQ(all.back(), "data: [DONE]");
  all.pop_back();
  std::string id, text;
  for (const std::string& event : all) {
    ASSERT_TRUE(event.starts_with("data: {")) << event;
    const json chunk = json::parse(event.substr(6));
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    if (id.empty()) id = chunk["id"];
    EXPECT_EQ(chunk["id"], id);
    for (const json& choice : chunk["choices"]) text += choice["delta"].value("content", "");
  }
  EXPECT_TRUE(json::parse(all.back().substr(6))["usage"].is_object());
  EXPECT_EQ(chat_with().json()["choices"][0]["message"]["content"], text);
}

TEST_F(ApiChat, AModelThatIsNotThereIs404AndNamesTheNearest) {
  const Answer answer = chat_with({{"model", "mock/chaat"}});
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.json()["error"]["code"], "model_not_found");
  EXPECT_NE(answer.json()["error"]["message"].get<std::string>().find("mock/chat"), std::string::npos);
  EXPECT_EQ(answer.header("x-should-retry"), "false");
}

TEST_F(ApiChat, AFieldOutOfRangeIs422InBothBodies) {
  const Answer answer = chat_with({{"temperature", 3}});
  EXPECT_EQ(answer.status, 422);
  EXPECT_TRUE(answer.json()["error"]["message"].is_string());
  EXPECT_EQ(answer.json()["detail"][0]["loc"], json({"body", "temperature"}));
}

TEST_F(ApiChat, WhatIsNotHonouredIsNamedAndRefusedIfStrictIsSet) {
  const Answer kept = chat_with({{"guardrails", json::array()}});
  EXPECT_EQ(kept.status, 200) << kept.body;
  EXPECT_NE(kept.header("x-millrace-dropped-params").find("guardrails"), std::string::npos);
  const Answer refused =
      post(std::string(kChat) + "?strict=true", request({{"guardrails", json::array()}}).dump());
  EXPECT_EQ(refused.status, 400) << refused.body;
}

TEST_F(ApiChat, ABodyThatIsParsedOnThePoolIsAnsweredAsWell) {
  const std::string text(100'000, 'x');
  const Answer answer = chat_with({{"messages", json::array({{{"role", "user"}, {"content", text}}})}});
  ASSERT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find(text), std::string::npos);
}

TEST_F(ApiChat, ADeferredRequestIsAJobThatIsPendingUntilAWorkerHasAnsweredIt) {
  const std::string id = deferred({{"priority", 7}});
  ASSERT_TRUE(id.starts_with("chat-")) << id;
  const Answer pending = later(id);
  EXPECT_EQ(pending.status, 202);
  EXPECT_EQ(pending.header("content-length"), "0");
  EXPECT_FALSE(pending.has("content-type"));
  const auto job = claim(Kind::kChat);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(schemas::chat_request_from_spec(job->spec).value().models.front(), "mock/chat");
  finish(job->lease, schemas::chat_outcome_text({.model = "mock/chat",
                                                 .attempts = 2,
                                                 .dropped = "seed",
                                                 .usage = R"({"total_tokens":3})",
                                                 .cost_usd = 0.25,
                                                 .param = {},
                                                 .completion = R"({"id":"c"})"}));
  const Answer done = later(id);
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.body, R"({"id":"c"})");
  EXPECT_EQ(done.header("x-millrace-model"), "mock/chat");
  EXPECT_EQ(done.header("x-millrace-attempts"), "2");
  EXPECT_EQ(done.header("x-millrace-dropped-params"), "seed");
  EXPECT_EQ(done.header("x-millrace-cost-usd"), "0.25");
  EXPECT_EQ(get("/v1/jobs/" + id + "/result").body, done.body);
  const json record = get("/v1/jobs/" + id).json();
  EXPECT_EQ(record["kind"], "chat");
  EXPECT_EQ(record["answered_by"], "mock/chat");
  EXPECT_EQ(record["dropped_params"], "seed");
  EXPECT_EQ(record["usage"]["total_tokens"], 3);
  EXPECT_EQ(record["cost_usd"], 0.25);
}

TEST_F(ApiChat, AFailedOneAnswersWithItsOriginalErrorForGood) {
  const std::string id = deferred();
  const auto job = claim(Kind::kChat);
  ASSERT_TRUE(job.has_value());
  const std::string kept_by_an_older_release = "{\"model\":\"m\",\"attempts\":1,\"param\":\"messages\"}\n";
  fail(job->lease, base::Code::kBadRequest, "the provider refused it", kept_by_an_older_release);
  const Answer answer = later(id);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.json()["error"]["message"], "the provider refused it");
  EXPECT_EQ(answer.json()["error"]["param"], "messages");
  EXPECT_EQ(answer.header("x-should-retry"), "false");
}

TEST_F(ApiChat, ACancelledOneIsAConflictAndAnUnknownOneIsNotThere) {
  const std::string id = deferred();
  EXPECT_EQ(post("/v1/jobs/" + id + "/cancel", "").status, 200);
  EXPECT_EQ(later(id).status, 409);
  EXPECT_EQ(later(id).json()["error"]["code"], "job_cancelled");
  EXPECT_EQ(later("chat-01932b6c-8a00-7000-8000-000000000001").status, 404);
  EXPECT_EQ(later("ocr-01932b6c-8a00-7000-8000-000000000001").status, 404);
  const std::string unknown_client = key(schemas::ScopeSet::of_a_new_key(), "other");
  const Answer theirs = send({.path = "/v1/chat/deferred-completion/" + id, .key = unknown_client});
  EXPECT_EQ(theirs.status, 404);
}

TEST_F(ApiChat, TheSameKeyAndBodyGiveTheSameJobAndAnotherBodyIsAConflict) {
  const std::string id = deferred({}, "Idempotency-Key: a\r\n");
  const Answer again = chat_with({{"deferred", true}}, "Idempotency-Key: a\r\n");
  EXPECT_EQ(again.json()["request_id"], id);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_EQ(chat_with({{"deferred", true}, {"seed", 1}}, "Idempotency-Key: a\r\n").status, 409);
}

TEST_F(ApiChat, ALongDeferredRequestIsKeptBesideItsRow) {
  const std::string text(100'000, 'x');
  const std::string id = deferred({{"messages", json::array({{{"role", "user"}, {"content", text}}})}});
  const auto job = claim(Kind::kChat);
  ASSERT_TRUE(job.has_value());
  ASSERT_TRUE(job->spec_blob.has_value());
  const auto spec = store->blobs().read(*job->spec_blob);
  ASSERT_TRUE(spec.has_value());
  EXPECT_NE(spec->find(text), std::string::npos);
}

TEST_F(ApiChat, AnImageOfMoreThanEightMebibytesIsNotInTheCopyThatIsKept) {
  const std::string image = "data:image/png;base64," + std::string(12u << 20, 'A');
  const json parts = json::array({{{"type", "image_url"}, {"image_url", {{"url", image}}}}});
  const json body = {{"messages", json::array({{{"role", "user"}, {"content", parts}}})},
                     {"store", true},
                     {"deferred", true}};
  const Answer made = chat_with(body);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_NE(made.header("x-millrace-dropped-params").find("store;clamped"), std::string::npos);
  const auto job = claim(Kind::kChat);
  ASSERT_TRUE(job.has_value());
  ASSERT_TRUE(job->input.has_value());
  EXPECT_FALSE(job->spec_blob.has_value());
  EXPECT_EQ(job->spec.find("data:image"), std::string::npos);
  EXPECT_NE(store->blobs().read(*job->input).value().find("data:image"), std::string::npos);
}

TEST_F(ApiChat, AClientThatLeavesAStreamEndsNothingElse) {
  {
    Connection client(server->port());
    client.send({.method = "POST",
                 .path = kChat,
                 .key = owner,
                 .headers = {},
                 .body = request({{"stream", true}}).dump()});
    EXPECT_TRUE(client.saw("data: "));
  }
  EXPECT_EQ(chat_with().status, 200);
}

TEST_F(ApiChat, ModelsAreListedWithWhatTheyCanDo) {
  const json list = get("/v1/models").json();
  bool found = false;
  for (const json& model : list["data"]) {
    if (model["id"] != "mock/chat") continue;
    found = true;
    EXPECT_EQ(model["provider"], "mock");
    EXPECT_EQ(model["capabilities"]["chat"], true);
    EXPECT_EQ(model["capabilities"]["ocr"], false);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(get("/v1/models/mock%2Fchat").json()["id"], "mock/chat");
  EXPECT_EQ(get("/v1/models/mock/chat").json()["id"], "mock/chat");
  EXPECT_EQ(get("/v1/models/millrace/ocr").json()["capabilities"]["ocr"], true);
  EXPECT_EQ(get("/v1/models/mock/chart").status, 404);
}

TEST_F(ApiChat, ModelsOfAudioSayWhetherTheyTranscribeOrSpeak) {
  const auto does = [&](const std::string& model, const char* what) {
    return get("/v1/models/" + model).json()["capabilities"][what] == true;
  };
  EXPECT_TRUE(does("millrace/sphinx-en", "transcription") && !does("millrace/sphinx-en", "speech"));
  EXPECT_EQ(get("/v1/models/whisper-1").json()["alias_of"], "millrace/sphinx-en");
  EXPECT_TRUE(does("millrace/flite", "speech") && !does("millrace/flite", "transcription"));
  EXPECT_TRUE(does("millrace/flite", "audio"));
  for (const char* what : {"transcription", "speech", "audio"}) EXPECT_FALSE(does("mock/chat", what)) << what;
}

}  // namespace
}  // namespace millrace::api::test
