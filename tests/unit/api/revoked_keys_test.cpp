#include <functional>
#include <set>

#include "api/admission/live_calls.h"
#include "api/routing/route.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/audio.h"
#include "tests/unit/api/executions.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::api::test {
namespace {

using schemas::Kind;

constexpr std::chrono::milliseconds kOften{20};

inference::ModelRow row(const std::string& name, inference::Ability ability, const std::string& base_url) {
  inference::ModelRow row;
  row.target.name = name;
  row.target.preset = providers::preset_named("openai");
  row.target.model = name.substr(name.find('/') + 1);
  row.target.base_url = base_url;
  row.abilities = {ability};
  return row;
}

// Requests that do not end while a test waits. No upstream and no worker responds.
class RevokedKeys : public Executions {
 protected:
  RevokedKeys() {
    using inference::Ability;
    const std::string url = silent_.base_url();
    models.models = {row("up/chat", Ability::kChat, url), row("up/gpt-image-1", Ability::kImages, url),
                     row("up/embedding", Ability::kEmbeddings, url), row("up/voice", Ability::kAudio, url)};
    Executions::begin({.event_ping = kOften, .feed_interval = kOften, .chat_heartbeat = kOften});
    admin_ = key(schemas::ScopeSet::all());
    who_ = key(schemas::ScopeSet::all());
    EXPECT_EQ(send({.path = "/v1/models", .key = who_}).status, 200);  // in memory from now on
  }

  TestRequest as_json(const std::string& path, const std::string& body, const std::string& headers = {}) {
    return {.method = "POST", .path = path, .key = who_, .headers = headers, .body = body};
  }
  TestRequest as_stream(const std::string& path) {
    return {.path = path, .key = who_, .headers = "Accept: text/event-stream\r\n"};
  }
  std::string queued_job() { return post("/v1/ocr", ocr_body(pdf_of(9)), kAsync).json().value("id", ""); }
  std::string id() { return std::string(*schemas::key_id(who_)); }
  void revoke_here() {
    const Answer revoked = send({.method = "DELETE", .path = "/v1/admin/keys/" + id(), .key = admin_});
    ASSERT_EQ(revoked.status, 200) << revoked.body;
  }
  // As another process does it: this one reads it from the store.
  void revoke_elsewhere() { ASSERT_TRUE(revoke_key(*store, id())); }

  // The streams, by the pattern of their route. Each has sent something.
  struct Stream {
    std::string pattern;
    TestRequest request;
    std::string first;
  };
  std::vector<Stream> streams() {
    const std::string body =
        R"({"model":"up/chat","stream":true,"messages":[{"role":"user","content":"x"}]})";
    const FormText form = good_form().field("stream", "true");
    return {
        {"/v1/jobs/{job_id}/events", as_stream("/v1/jobs/" + queued_job() + "/events"), "event: ping"},
        {"/v1/machines/{machine_id}/executions/{execution_id}/events",
         as_stream(root_ + "/" + make() + "/events"), "event: ping"},
        {"/v1/admin/events", as_stream("/v1/admin/events"), "event: overview"},
        {"/v1/chat/completions", as_json("/v1/chat/completions", body), ": "},
        {"/v1/images/generations",
         as_json("/v1/images/generations", R"({"model":"up/gpt-image-1","prompt":"x","stream":true})"), ": "},
        {"/v1/audio/speech",
         as_json("/v1/audio/speech",
                 R"({"model":"up/voice","input":"x","voice":"alloy","stream_format":"sse"})"),
         ": "},
        {"/v1/audio/transcriptions",
         {.method = "POST",
          .path = "/v1/audio/transcriptions",
          .key = who_,
          .body = form.text(),
          .type = form.type()},
         ": "},
    };
  }

  inference::testing::ScriptedUpstream silent_{{""}};
  std::string admin_, who_;
};

std::set<std::string> streaming_routes() {
  std::set<std::string> out;
  for (const Route& route : routes()) {
    for (const ReplySpec& reply : route.operation.replies) {
      if (reply.content_type == kSse) out.emplace(route.pattern);
    }
  }
  return out;
}

TEST_F(RevokedKeys, EveryStreamEndsInTheProcessThatWasAsked) {
  std::set<std::string> known;
  std::vector<std::unique_ptr<Connection>> open;
  for (const Stream& stream : streams()) {
    known.insert(stream.pattern);
    open.push_back(std::make_unique<Connection>(server->port()));
    open.back()->send(stream.request);
    ASSERT_TRUE(open.back()->saw(stream.first)) << stream.pattern << open.back()->seen();
  }
  EXPECT_EQ(known, streaming_routes()) << "every route that streams is in the list above";
  revoke_here();
  for (const auto& each : open) {
    EXPECT_TRUE(each->ended()) << each->seen();
    EXPECT_EQ(each->seen().find("\r\n0\r\n"), std::string::npos) << "a cut stream does not look complete";
  }
  EXPECT_TRUE(silent_.wait_for_caller_gone()) << "the upstream call has ended, too";
}

TEST_F(RevokedKeys, EveryStreamEndsAfterARevocationByAnotherProcess) {
  std::vector<std::unique_ptr<Connection>> open;
  for (const Stream& stream : streams()) {
    open.push_back(std::make_unique<Connection>(server->port()));
    open.back()->send(stream.request);
    ASSERT_TRUE(open.back()->saw(stream.first)) << stream.pattern;
  }
  revoke_elsewhere();
  for (const auto& each : open) EXPECT_TRUE(each->ended()) << each->seen();
  static_assert(LiveCalls::kRefreshEvery <= std::chrono::milliseconds(500), "and an upload's tick: 250 ms");
}

TEST_F(RevokedKeys, EveryWaitingRequestGets401) {
  const std::string recording = good_form().text(), type = good_form().type();
  const TestRequest waiting[] = {
      as_json("/v1/chat/completions", R"({"model":"up/chat","messages":[{"role":"user","content":"x"}]})"),
      as_json("/v1/embeddings", R"({"model":"up/embedding","input":"x"})"),
      as_json("/v1/ocr", ocr_body(pdf_of(9))),
      {.path = "/v1/jobs/" + queued_job(), .key = who_, .headers = "Prefer: wait=60\r\n"},
      {.method = "POST", .path = "/v1/audio/transcriptions", .key = who_, .body = recording, .type = type},
  };
  std::vector<std::unique_ptr<Connection>> open;
  for (const TestRequest& request : waiting) {
    open.push_back(std::make_unique<Connection>(server->port()));
    open.back()->send(request);
  }
  ASSERT_TRUE(silent_.wait_for_requests(1));
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 3; }));
  revoke_here();
  for (const auto& each : open) {
    const Answer answer = each->answer();
    EXPECT_EQ(answer.status, 401) << answer.body;
    EXPECT_EQ(answer.json()["error"]["code"], "invalid_api_key");
    EXPECT_TRUE(answer.has("x-request-id"));
    EXPECT_TRUE(each->ended());
  }
  EXPECT_TRUE(support::wait_until([&] { return waiters->count() == 0; })) << "nothing waits any longer";
}

TEST_F(RevokedKeys, ABodyThatIsStillArrivingGets401) {
  const std::string head = " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + who_ + "\r\n";
  const std::string begun[] = {
      "POST /v1/ocr" + head + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
      "POST /v1/ocr" + head +
          "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"doc",
      "POST /v1/audio/transcriptions" + head + "Content-Type: " + good_form().type() +
          "\r\nContent-Length: 100000\r\n\r\n" + good_form().open().substr(0, 5'000),
  };
  const std::uint64_t before = server->stats().requests_total;
  std::vector<std::unique_ptr<Connection>> open;
  for (const std::string& text : begun) {
    open.push_back(std::make_unique<Connection>(server->port()));
    open.back()->send_text(text);
  }
  ASSERT_TRUE(support::wait_until([&] { return server->stats().requests_total >= before + open.size(); }));
  revoke_here();
  for (const auto& each : open) {
    const Answer answer = each->answer();
    EXPECT_EQ(answer.status, 401) << answer.body;
    EXPECT_EQ(answer.json()["error"]["code"], "invalid_api_key");
    EXPECT_EQ(answer.header("www-authenticate"), "Bearer");
    EXPECT_TRUE(each->ended());
  }
}

TEST_F(RevokedKeys, AReplyThatASlowClientIsReadingIsCut) {
  const std::string large(std::size_t{24} << 20, 'x');
  const storage::Lease one = (make(), lease());
  leave(one, id_, "large.txt", large);
  const std::string machine_path = "/v1/machines/" + id_ + "/artifacts";
  const std::string artifact = get(machine_path).json()["items"][0].value("artifact_id", "");
  const std::string job = queued_job();
  finish(claim()->lease, R"({"pages":[],"x":")" + large + "\"}");
  std::vector<std::unique_ptr<Connection>> open;
  for (const std::string& path :
       {machine_path + "/" + artifact + "/content", "/v1/jobs/" + job + "/result"}) {
    open.push_back(std::make_unique<Connection>(server->port()));
    open.back()->send({.path = path, .key = who_});
    ASSERT_TRUE(open.back()->saw("\r\n\r\n")) << path;
  }
  revoke_here();
  for (const auto& each : open) {
    EXPECT_TRUE(each->ended());
    EXPECT_LT(each->seen().size(), large.size());
  }
}

TEST_F(RevokedKeys, AnExpiryEndsAStreamAsARevocationDoes) {
  const auto made = create_key(*store, pepper_text,
                               {.name = "short",
                                .tenant = "default",
                                .scopes = schemas::ScopeSet::all(),
                                .expires_at = clock.wall() + std::chrono::seconds(1)});
  ASSERT_TRUE(made.has_value());
  Connection stream(server->port());
  TestRequest request = as_stream("/v1/jobs/" + queued_job() + "/events");
  request.key = made->text;
  stream.send(request);
  ASSERT_TRUE(stream.saw("event: ping"));
  EXPECT_TRUE(stream.ended());
}

TEST_F(RevokedKeys, TheEndOfARotationEndsTheStreamsOfTheOldKey) {
  Connection stream(server->port());
  stream.send(as_stream("/v1/jobs/" + queued_job() + "/events"));
  ASSERT_TRUE(stream.saw("event: ping"));
  ASSERT_EQ(send({.method = "POST",
                  .path = "/v1/admin/keys/" + id() + "/rotate",
                  .key = admin_,
                  .body = R"({"overlap_seconds":0})"})
                .status,
            200);
  EXPECT_TRUE(stream.ended());
}

TEST_F(RevokedKeys, ALostScopeEndsEveryStreamAsARevocationDoes) {
  std::vector<std::unique_ptr<Connection>> open;
  for (const Stream& stream : streams()) {
    open.push_back(std::make_unique<Connection>(server->port()));
    open.back()->send(stream.request);
    ASSERT_TRUE(open.back()->saw(stream.first)) << stream.pattern;
  }
  ASSERT_EQ(send({.method = "PATCH",
                  .path = "/v1/admin/keys/" + id(),
                  .key = admin_,
                  .body = R"({"scopes":["models"]})"})
                .status,
            200);
  for (const auto& each : open) EXPECT_TRUE(each->ended()) << each->seen();
}

// Without a look-up: unknown keys get 429 here because of the failed attempts before.
TEST_F(RevokedKeys, ANewKeyWorksAtOnceInTheProcessThatMadeIt) {
  for (int i = 0; i <= FailedAttempts::kPerMinute; ++i)
    send({.path = "/v1/models", .key = schemas::make_key_text()});
  ASSERT_EQ(send({.path = "/v1/models", .key = schemas::make_key_text()}).status, 429);
  for (int i = 0; i < 5; ++i) {
    const Answer made = send({.method = "POST",
                              .path = "/v1/admin/keys",
                              .key = admin_,
                              .body = R"({"name":"new","scopes":["models"]})"});
    ASSERT_EQ(made.status, 200) << made.body;
    EXPECT_EQ(send({.path = "/v1/models", .key = made.json().value("key", "")}).status, 200);
  }
}

TEST_F(RevokedKeys, OtherKeysStreamOn) {
  TestRequest request = as_stream("/v1/jobs/" + queued_job() + "/events");
  request.key = owner;
  Connection stream(server->port());
  stream.send(request);
  ASSERT_TRUE(stream.saw("event: ping"));
  revoke_here();
  finish(claim()->lease, kReply);
  EXPECT_TRUE(stream.saw("event: succeeded"));
}

TEST_F(RevokedKeys, AKeyMayRevokeItselfAndGetsTheReply) {
  const Answer revoked = send({.method = "DELETE", .path = "/v1/admin/keys/" + id(), .key = who_});
  EXPECT_EQ(revoked.status, 200) << revoked.body;
  EXPECT_EQ(send({.path = "/v1/models", .key = who_}).status, 401) << "at once in the process that was asked";
}

}  // namespace
}  // namespace millrace::api::test
