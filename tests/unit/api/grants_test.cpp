#include <thread>

#include "api/routing/route.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;
using schemas::Scope;
using schemas::ScopeSet;

ScopeSet set_of(std::initializer_list<Scope> scopes) {
  ScopeSet out;
  for (const Scope each : scopes) out.add(each);
  return out;
}

class Grants : public Served {
 protected:
  Grants() { start(); }
  Answer manage(const std::string& by, const std::string& method, const std::string& path,
                const std::string& body = {}) {
    return send({.method = method, .path = "/v1/admin/keys" + path, .key = by, .body = body});
  }
  Answer create(const std::string& by, const std::string& tenant, const std::string& scope) {
    return manage(by, "POST", "", json{{"name", "new"}, {"tenant", tenant}, {"scopes", {scope}}}.dump());
  }
  static std::string id_of(const std::string& text) { return std::string(*schemas::key_id(text)); }
};

TEST_F(Grants, NobodyGrantsWhatTheyDoNotHave) {
  struct Caller {
    ScopeSet scopes;
    std::string tenant;
  };
  const Caller callers[] = {
      {ScopeSet::all(), "default"},
      {set_of({Scope::kAdmin, Scope::kOcr}), "default"},
      {set_of({Scope::kTenantAdmin, Scope::kOcr, Scope::kJobsRead}), "acme"},
      {set_of({Scope::kTenantAdmin}), "acme"},
      {set_of({Scope::kOcr, Scope::kJobsRead}), "acme"},
  };
  for (const Caller& caller : callers) {
    const std::string by = key(caller.scopes, caller.tenant);
    const bool is_admin = caller.scopes.has(Scope::kAdmin);
    for (const std::string tenant : {"default", "acme", "other"}) {
      for (std::size_t i = 0; i < schemas::kScopeCount; ++i) {
        const auto scope = static_cast<Scope>(i);
        const bool reaches_tenant =
            is_admin || (caller.scopes.has(Scope::kTenantAdmin) && tenant == caller.tenant);
        const bool has_it = caller.scopes.has(scope) ||
                            (is_admin && (scope == Scope::kMetrics || scope == Scope::kTenantAdmin));
        const Answer answer = create(by, tenant, std::string(schemas::name(scope)));
        EXPECT_EQ(answer.status, reaches_tenant && has_it ? 200 : 403)
            << schemas::name(scope) << " for " << tenant << " " << answer.body;
      }
    }
  }
}

TEST_F(Grants, NobodyGrantsALongerLifeOrHigherLimitsThanTheirOwn) {
  key_limits[schemas::Quota::kRunningJobs] = 5;
  const std::string limited = key(set_of({Scope::kTenantAdmin, Scope::kOcr}), "acme");
  const auto new_key = [](const json& more) {
    json body = {{"name", "new"}, {"tenant", "acme"}, {"scopes", {"ocr"}}};
    body.update(more);
    return body.dump();
  };
  EXPECT_EQ(manage(limited, "POST", "", new_key(json::object())).status, 403);
  EXPECT_EQ(manage(limited, "POST", "", new_key({{"limits", {{"running_jobs", "unlimited"}}}})).status, 403);
  EXPECT_EQ(manage(limited, "POST", "", new_key({{"limits", {{"running_jobs", 6}}}})).status, 403);
  EXPECT_EQ(manage(limited, "POST", "", new_key({{"limits", {{"running_jobs", 5}}}})).status, 200);
  EXPECT_EQ(manage(limited, "PATCH", "/" + id_of(limited), R"({"limits":null})").status, 403);
  key_limits = {};

  const std::string admin = key(ScopeSet::all(), "acme");
  const json made =
      manage(admin, "POST", "",
             new_key({{"scopes", {"tenant:admin", "ocr"}}, {"expires_at", "2099-01-01T00:00:00Z"}}))
          .json();
  const std::string expiring = made["key"];
  EXPECT_EQ(manage(expiring, "POST", "", new_key(json::object())).status, 403);
  EXPECT_EQ(manage(expiring, "POST", "", new_key({{"expires_at", "2099-01-02T00:00:00Z"}})).status, 403);
  EXPECT_EQ(manage(expiring, "POST", "", new_key({{"expires_at", "2098-12-31T00:00:00Z"}})).status, 200);
  EXPECT_EQ(manage(expiring, "PATCH", "/" + id_of(expiring), R"({"expires_at":null})").status, 403);
}

TEST_F(Grants, AKeyThatWasReplacedCannotLiveLonger) {
  const std::string admin = key(ScopeSet::all());
  const std::string old = key(set_of({Scope::kOcr}));
  ASSERT_EQ(manage(admin, "POST", "/" + id_of(old) + "/rotate").status, 200);
  EXPECT_EQ(manage(admin, "PATCH", "/" + id_of(old), R"({"expires_at":null})").status, 409);
}

TEST_F(Grants, TheDefaultScopesAreGrantedOnlyByAKeyThatHasThem) {
  const std::string by = key(set_of({Scope::kTenantAdmin, Scope::kOcr}), "acme");
  const Answer refused = manage(by, "POST", "", R"({"name":"new"})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("'models'"), std::string::npos) << "it names a scope: " << refused.body;
  const Answer made = manage(by, "POST", "", R"({"name":"new","scopes":["ocr"]})");
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.json()["tenant"], "acme") << "the caller's tenant is the default";
}

TEST_F(Grants, AnAdministratorOfATenantSeesAndManagesOnlyItsKeys) {
  const std::string by = key(set_of({Scope::kTenantAdmin, Scope::kOcr}), "acme");
  const std::string own = key(set_of({Scope::kOcr}), "acme"), rich = key(set_of({Scope::kChat}), "acme");
  const std::string foreign = key(set_of({Scope::kOcr}), "other");
  const std::string installation = key(set_of({Scope::kAdmin}), "acme");
  const json listed = manage(by, "GET", "").json()["items"];
  EXPECT_EQ(listed.size(), 4u);
  for (const json& each : listed) EXPECT_EQ(each["tenant"], "acme");
  for (const auto& [method, path] : {std::pair("DELETE", ""), {"POST", "/rotate"}, {"PATCH", ""}}) {
    const std::string body = std::string_view(method) == "PATCH" ? R"({"name":"x"})" : "";
    const Answer of_another = manage(by, method, "/" + id_of(foreign) + path, body);
    EXPECT_EQ(of_another.status, 404);
    EXPECT_EQ(of_another.body, manage(by, method, std::string("/nobody00") + path, body).body) << method;
  }
  EXPECT_EQ(manage(by, "POST", "/" + id_of(foreign) + "/rotate").status, 404);
  EXPECT_EQ(manage(by, "DELETE", "/" + id_of(installation)).status, 403);
  EXPECT_EQ(manage(by, "POST", "/" + id_of(installation) + "/rotate").status, 403);
  EXPECT_EQ(manage(by, "POST", "/" + id_of(rich) + "/rotate").status, 403) << "a rotation returns the key";
  EXPECT_EQ(manage(by, "POST", "/" + id_of(own) + "/rotate").status, 200);
  EXPECT_EQ(manage(by, "DELETE", "/" + id_of(rich)).status, 200) << "a leaked key can be revoked";
  for (const std::string& still : {foreign, installation})
    EXPECT_NE(send({.path = "/v1/models", .key = still}).status, 401) << "it is unchanged";
}

TEST_F(Grants, AnAdministratorOfATenantReachesNothingElseOfTheInstallation) {
  const std::string by = key(set_of({Scope::kTenantAdmin}), "acme");
  for (const Route& route : routes()) {
    const bool is_admin_route = route.access == Access::kScope && route.scope == Scope::kAdmin;
    if (!is_admin_route) continue;
    const Answer answer =
        send({.method = std::string(name(route.method)), .path = std::string(route.pattern), .key = by});
    EXPECT_EQ(answer.status, 403) << route.pattern;
  }
}

TEST_F(Grants, OfParallelRotationsOneSucceeds) {
  const std::string by = key(ScopeSet::all()), old = key(set_of({Scope::kOcr}));
  ASSERT_EQ(manage(by, "GET", "").status, 200);
  std::array<Answer, 6> answers;
  {
    std::vector<std::jthread> threads;
    for (Answer& answer : answers)
      threads.emplace_back([&] { answer = manage(by, "POST", "/" + id_of(old) + "/rotate"); });
  }
  int made = 0;
  for (const Answer& answer : answers) {
    made += answer.status == 200 ? 1 : 0;
    if (answer.status == 200) continue;
    EXPECT_EQ(answer.status, 409) << answer.body;
    EXPECT_EQ(answer.json()["error"]["code"], "invalid_state");
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(list_keys(*store)->size(), 4u) << "owner, administrator, the old key and one new key";
}

TEST_F(Grants, AKeyCanBeRotatedAgainOnceItsSuccessorIsGone) {
  const std::string by = key(ScopeSet::all()), old = key(set_of({Scope::kOcr}));
  const std::string path = "/" + id_of(old) + "/rotate";
  const Answer first = manage(by, "POST", path);
  ASSERT_EQ(first.status, 200);
  const Answer second = manage(by, "POST", path);
  EXPECT_EQ(second.status, 409);
  const std::string successor = first.json()["id"];
  EXPECT_NE(second.body.find(successor), std::string::npos) << "the error names the key to rotate";
  ASSERT_EQ(manage(by, "DELETE", "/" + successor).status, 200);
  EXPECT_EQ(manage(by, "POST", path).status, 200);
}

}  // namespace
}  // namespace millrace::api::test
