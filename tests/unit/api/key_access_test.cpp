#include <algorithm>
#include <future>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::api::test {
namespace {

using inference::testing::ScriptedUpstream;
using nlohmann::json;
using schemas::Scope;
using schemas::ScopeSet;

inference::ModelRow row(const std::string& name, const std::string& base_url,
                        std::vector<std::string> fallbacks = {}) {
  inference::ModelRow row;
  row.target.name = name;
  row.target.preset = providers::preset_named("openai");
  row.target.model = name.substr(name.find('/') + 1);
  row.target.base_url = base_url;
  row.fallbacks = std::move(fallbacks);
  return row;
}

class KeyAccess : public Served {
 protected:
  KeyAccess() {
    models.models = {row("up/first", broken_.base_url(), {"up/other"}), row("up/other", good_.base_url())};
    models.mcp_slugs = {{"search", "https://mcp.example/search", {}, {}}};
    start();
    admin_ = key(ScopeSet::all());
  }

  std::string with(const schemas::KeyAccess& access) {
    const auto made = create_key(
        *store, pepper_text,
        {.name = "limited", .tenant = "default", .scopes = ScopeSet::of_a_new_key(), .access = access});
    EXPECT_TRUE(made.has_value());
    return made ? made->text : std::string();
  }
  Answer post_as(const std::string& who, const std::string& path, const json& body) {
    return send({.method = "POST", .path = path, .key = who, .body = body.dump()});
  }
  Answer chat_as(const std::string& who, const std::string& model, json more = json::object()) {
    json body = {{"model", model}, {"messages", {{{"role", "user"}, {"content", "x"}}}}};
    body.update(more);
    return post_as(who, "/v1/chat/completions", body);
  }
  Answer change(const std::string& who, const json& body, const std::string& by = {}) {
    return send({.method = "PATCH",
                 .path = "/v1/admin/keys/" + std::string(*schemas::key_id(who)),
                 .key = by.empty() ? admin_ : by,
                 .body = body.dump()});
  }

  ScriptedUpstream broken_{{inference::testing::http(500, "{}")}};
  ScriptedUpstream good_{{inference::testing::completion("hello")}};
  std::string admin_;
};

TEST_F(KeyAccess, AKeyIsRefusedOutsideOfItsAddresses) {
  const std::string here = with({.ip_ranges = {{"10.0.0.0/8", "127.0.0.0/8"}}});
  const std::string elsewhere = with({.ip_ranges = {{"10.0.0.0/8"}}});
  EXPECT_EQ(send({.path = "/v1/models", .key = here}).status, 200);
  const Answer refused = send({.path = "/v1/models", .key = elsewhere});
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("address"), std::string::npos) << refused.body;
  EXPECT_EQ(send({.path = "/v1/models", .key = with({.ip_ranges = std::vector<std::string>()})}).status, 403);
}

TEST_F(KeyAccess, EveryModelEndpointObeysTheList) {
  const std::string who = with({.models = {{"mock/chat"}}});
  EXPECT_EQ(chat_as(who, "mock/chat").status, 200);
  const std::string pdf = "data:application/pdf;base64,JVBERi0xLjQK";
  const std::pair<std::string, json> requests[] = {
      {"/v1/chat/completions", {{"model", "up/other"}, {"messages", {{{"role", "user"}, {"content", "x"}}}}}},
      {"/v1/chat/completions",
       {{"model", "up/other"}, {"deferred", true}, {"messages", {{{"role", "user"}, {"content", "x"}}}}}},
      {"/v1/embeddings", {{"model", "mock/embedding"}, {"input", "x"}}},
      {"/v1/images/generations", {{"model", "mock/image"}, {"prompt", "x"}}},
      {"/v1/audio/speech", {{"model", "millrace/flite"}, {"input", "x"}, {"voice", "alloy"}}},
      {"/v1/ocr",
       {{"model", "millrace/ocr"}, {"document", {{"type", "document_url"}, {"document_url", pdf}}}}},
  };
  for (const auto& [path, body] : requests) {
    const Answer answer = post_as(who, path, body);
    EXPECT_EQ(answer.status, 403) << path << answer.body;
    EXPECT_EQ(answer.json()["error"]["param"], "model") << path << answer.body;
    EXPECT_NE(answer.body.find(body["model"].get<std::string>()), std::string::npos) << answer.body;
  }
  EXPECT_EQ(get("/v1/jobs").json()["items"].size(), 0u);
  EXPECT_TRUE(good_.bodies().empty()) << "no provider was called";
}

TEST_F(KeyAccess, AllowedNamesInAListOfModelsAreTriedAndOthersAreNot) {
  const std::string who = with({.models = {{"mock/*"}}});
  EXPECT_EQ(chat_as(who, "x", {{"model", {"up/other", "mock/chat"}}}).header("x-millrace-model"),
            "mock/chat");
  EXPECT_EQ(chat_as(who, "x", {{"model", {"up/other", "up/first"}}}).status, 403);
  EXPECT_TRUE(good_.bodies().empty());
}

TEST_F(KeyAccess, FallbacksObeyTheList) {
  const Answer free = chat_as(owner, "up/first");
  ASSERT_EQ(free.status, 200) << free.body;
  ASSERT_EQ(free.header("x-millrace-model"), "up/other");
  const std::size_t before = good_.bodies().size();
  const Answer limited = chat_as(with({.models = {{"up/first"}}}), "up/first");
  EXPECT_EQ(limited.status, 502) << limited.body;
  EXPECT_EQ(good_.bodies().size(), before);
}

TEST_F(KeyAccess, FallbacksOfOtherEndpointsObeyTheListToo) {
  const json body{{"model", "up/first"}, {"input", "x"}};
  post_as(owner, "/v1/embeddings", body);
  const std::size_t free = good_.bodies().size();
  EXPECT_GT(free, 0u) << "without a list the fallback is called";
  EXPECT_EQ(post_as(with({.models = {{"up/first"}}}), "/v1/embeddings", body).status, 502);
  EXPECT_EQ(good_.bodies().size(), free);
}

TEST_F(KeyAccess, AStoredRequestKeepsTheListForItsFallbacks) {
  const std::string who = with({.models = {{"up/first"}}});
  ASSERT_EQ(chat_as(who, "up/first", {{"deferred", true}}).status, 200);
  const auto job = claim(schemas::Kind::kChat);
  ASSERT_TRUE(job.has_value());
  const auto request = schemas::chat_request_from_spec(job->spec);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->allowed_models, schemas::AllowList(std::vector<std::string>{"up/first"}));
}

TEST_F(KeyAccess, TheListOfModelsShowsTheAllowedOnes) {
  const std::string who = with({.models = {{"mock/chat"}}});
  const json listed = send({.path = "/v1/models", .key = who}).json()["data"];
  ASSERT_EQ(listed.size(), 1u) << listed;
  EXPECT_EQ(listed[0]["id"], "mock/chat");
  EXPECT_EQ(send({.path = "/v1/models/up/first", .key = who}).status, 403);
  EXPECT_EQ(send({.path = "/v1/models/mock/chat", .key = who}).status, 200);
}

TEST_F(KeyAccess, McpServersObeyTheListBySlugAndUrl) {
  const std::string who = with({.mcp_servers = {{"https://ok.example/*"}}});
  for (const json& server : {json("search"), json("https://mcp.example/x"), json{{"slug", "search"}},
                             json{{"url", "https://ok.example.evil/x"}}}) {
    const Answer answer = chat_as(who, "mock/chat", {{"mcp_servers", {server}}});
    EXPECT_EQ(answer.status, 403) << server << answer.body;
    EXPECT_NE(answer.body.find("MCP server"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(chat_as(with({.mcp_servers = std::vector<std::string>()}), "mock/chat").status, 200);
}

TEST_F(KeyAccess, AKeyIsChangedAndItsListsAreShown) {
  const std::string who = with({});
  const Answer changed = change(who, {{"name", "renamed"},
                                      {"scopes", {"chat", "models"}},
                                      {"models", {"mock/chat"}},
                                      {"mcp_servers", json::array()},
                                      {"ip_ranges", {"127.0.0.1", "::1"}},
                                      {"expires_at", "2999-01-01T00:00:00Z"}});
  ASSERT_EQ(changed.status, 200) << changed.body;
  const json shown = changed.json();
  EXPECT_EQ(shown["name"], "renamed");
  EXPECT_EQ(shown["scopes"], json({"models", "chat"}));
  EXPECT_EQ(shown["models"], json({"mock/chat"}));
  EXPECT_EQ(shown["mcp_servers"], json::array());
  EXPECT_EQ(shown["ip_ranges"], json({"127.0.0.1", "::1"}));
  EXPECT_EQ(shown["expires_at"], "2999-01-01T00:00:00.000Z");
  EXPECT_FALSE(shown.contains("key"));
  EXPECT_EQ(chat_as(who, "up/other").status, 403) << "at once in the process that was asked";
  EXPECT_EQ(change(who, {{"limits", {{"machines", 3}}}}).json()["limits"], json({{"machines", 3}}));
  EXPECT_FALSE(change(who, {{"limits", nullptr}}).json().contains("limits"));
  const json free = change(who, {{"models", nullptr}, {"expires_at", nullptr}}).json();
  EXPECT_FALSE(free.contains("models") || free.contains("expires_at")) << free;
  EXPECT_EQ(free["ip_ranges"], json({"127.0.0.1", "::1"})) << "absent members do not change";
  EXPECT_EQ(change(who, json::object()).status, 200);
}

TEST_F(KeyAccess, ABadChangeIsRefusedAndNamesTheField) {
  const std::string who = with({});
  for (const auto& [body, field] : std::vector<std::pair<json, std::string>>{
           {{{"ip_ranges", {"10.0.0.1/8"}}}, "ip_ranges"},
           {{{"models", {""}}}, "models"},
           {{{"models", "x"}}, "models"},
           {{{"scopes", {"orc"}}}, "scopes"},
           {{{"name", "a b"}}, "name"},
           {{{"tenant", "other"}}, "tenant"},
           {{{"expires_at", "soon"}}, "expires_at"},
       }) {
    const Answer answer = change(who, body);
    EXPECT_EQ(answer.status, 422) << body << answer.body;
    EXPECT_EQ(answer.json()["error"]["param"], field) << answer.body;
  }
  EXPECT_EQ(send({.method = "PATCH", .path = "/v1/admin/keys/nobody00", .key = admin_, .body = "{}"}).status,
            404);
}

TEST_F(KeyAccess, AChangeGrantsOnlyWhatTheCallerHas) {
  ScopeSet scopes;
  for (const Scope each : {Scope::kTenantAdmin, Scope::kOcr, Scope::kChat}) scopes.add(each);
  const auto by = create_key(*store, pepper_text,
                             {.name = "by",
                              .tenant = "default",
                              .scopes = scopes,
                              .access = {.ip_ranges = {{"127.0.0.0/8"}}, .models = {{"mock/*"}}}})
                      ->text;
  const std::string who = with({.models = {{"up/first"}}});
  const auto status = [&](const json& body) { return change(who, body, by).status; };
  EXPECT_EQ(status({{"name", "other"}}), 200);
  EXPECT_EQ(status({{"scopes", {"ocr", "chat", "exec:run"}}}), 200) << "it takes rights away";
  EXPECT_EQ(status({{"scopes", {"ocr", "audio"}}}), 403) << "it adds one that the caller lacks";
  EXPECT_EQ(status({{"models", {"up/first", "mock/chat"}}}), 403);
  EXPECT_EQ(status({{"models", nullptr}}), 403);
  EXPECT_EQ(status({{"models", {"up/first"}}}), 200) << "it has this already";
  EXPECT_EQ(status({{"ip_ranges", {"127.0.0.1"}}}), 200);
  EXPECT_EQ(status({{"ip_ranges", nullptr}}), 403);
  EXPECT_EQ(status({{"expires_at", "2999-01-01T00:00:00Z"}}), 200) << "it shortens its life";
  EXPECT_EQ(status({{"expires_at", nullptr}}), 403) << "it prolongs rights that the caller lacks";
  EXPECT_EQ(post_as(by, "/v1/admin/keys", {{"name", "n"}, {"scopes", {"ocr"}}}).status, 403)
      << "a key without limits is more than the caller's";
  EXPECT_EQ(
      post_as(by, "/v1/admin/keys",
              {{"name", "n"}, {"scopes", {"ocr"}}, {"models", {"mock/chat"}}, {"ip_ranges", {"127.0.0.1"}}})
          .status,
      200);
}

TEST_F(KeyAccess, AChangeThatTakesARightAwayEndsTheCallsOfTheKey) {
  const std::string who = with({});
  const std::string id = post("/v1/ocr", ocr_body(pdf_of(9)), kAsync).json().value("id", "");
  Connection waiting(server->port());
  waiting.send({.path = "/v1/jobs/" + id, .key = who, .headers = "Prefer: wait=60\r\n"});
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 1; }));
  ASSERT_EQ(change(who, {{"scopes", {"ocr"}}}).status, 200);
  EXPECT_EQ(waiting.answer().status, 401);
}

TEST_F(KeyAccess, AChangeThatOnlyAddsEndsNothing) {
  const std::string who = with({.models = {{"mock/chat"}}});
  const std::string id = post("/v1/ocr", ocr_body(pdf_of(9)), kAsync).json().value("id", "");
  Connection waiting(server->port());
  waiting.send({.path = "/v1/jobs/" + id, .key = who, .headers = "Prefer: wait=60\r\n"});
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 1; }));
  ASSERT_EQ(change(who, {{"models", nullptr}}).status, 200);
  finish(claim()->lease, kReply);
  EXPECT_EQ(waiting.answer().status, 200);
}

TEST_F(KeyAccess, ARotatedKeyKeepsItsLimitsAndNamesItsSuccessor) {
  const std::string who = with({.models = {{"mock/chat"}}});
  const json made = send({.method = "POST",
                          .path = "/v1/admin/keys/" + std::string(*schemas::key_id(who)) + "/rotate",
                          .key = admin_})
                        .json();
  EXPECT_EQ(made["models"], json({"mock/chat"}));
  const json listed = send({.path = "/v1/admin/keys", .key = admin_}).json();
  const auto& keys = listed["items"];
  const auto old = std::ranges::find(keys, *schemas::key_id(who), [](const json& key) { return key["id"]; });
  ASSERT_NE(old, keys.end());
  EXPECT_EQ((*old)["rotated_to"], made["id"]);
}

}  // namespace
}  // namespace millrace::api::test
