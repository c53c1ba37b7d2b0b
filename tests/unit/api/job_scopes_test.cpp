#include <array>
#include <set>

#include "api/jobs/job_scope.h"
#include "api/routing/route.h"
#include "platform/base/base64.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/audio.h"
#include "tests/unit/api/executions.h"

namespace millrace::api::test {
namespace {

using schemas::Kind;
using schemas::Scope;

constexpr std::array kShownKinds{Kind::kOcr, Kind::kExec, Kind::kChat, Kind::kStt};
constexpr std::string_view kCanary = "CANARY";

// One failed job of each kind. Its name, its error and, of an execution, its output contain kCanary.
class JobScopes : public Executions {
 protected:
  JobScopes() {
    Executions::begin();
    for (const Kind kind : kShownKinds) jobs_[kind] = failed_job(kind);
  }

  std::string create_job(Kind kind) {
    const std::string pdf = "data:application/pdf;base64," + base::base64_encode(pdf_of(9));
    const FormText form = FormText().field("model", "whisper-1").file(wav_of(10'000), "CANARY.wav");
    switch (kind) {
      case Kind::kOcr:
        return post("/v1/ocr",
                    R"({"document":{"type":"document_url","document_name":"CANARY.pdf","document_url":")" +
                        pdf + "\"}}",
                    kAsync)
            .json()
            .value("id", "");
      case Kind::kChat:
        return post(
                   "/v1/chat/completions",
                   R"({"model":"mock/chat","deferred":true,"messages":[{"role":"user","content":"CANARY"}]})")
            .json()
            .value("request_id", "");
      case Kind::kStt:
        return send({.method = "POST",
                     .path = "/v1/audio/transcriptions",
                     .key = owner,
                     .headers = kAsync,
                     .body = form.text(),
                     .type = form.type()})
            .json()
            .value("id", "");
      default:
        return make(R"({"command":["echo","CANARY"]})");
    }
  }

  std::string failed_job(Kind kind) {
    const std::string id = create_job(kind);
    EXPECT_FALSE(id.empty()) << schemas::name(kind);
    const auto job = claim(kind);
    EXPECT_TRUE(job.has_value()) << schemas::name(kind);
    if (kind == Kind::kExec) out(job->lease, kCanary);
    fail(job->lease, base::Code::kWorkerLost, "it failed: CANARY");
    return id;
  }

  // One key for each scope, with `others`; all are in memory.
  std::vector<std::pair<Scope, std::string>> key_per_scope(std::initializer_list<Scope> others) {
    std::vector<std::pair<Scope, std::string>> out;
    for (std::size_t i = 0; i < schemas::kScopeCount; ++i) {
      schemas::ScopeSet scopes;
      for (const Scope each : others) scopes.add(each);
      scopes.add(static_cast<Scope>(i));
      out.emplace_back(static_cast<Scope>(i), key(scopes));
    }
    for (const auto& [scope, who] : out) {
      EXPECT_TRUE(support::wait_until(
          [&, who = who] { return send({.path = "/v1/jobs", .key = who}).status != 401; }));
    }
    return out;
  }

  std::string path_of(const Route& route, Kind kind) {
    std::string path(route.pattern);
    for (const auto& [name, value] : {std::pair<std::string, std::string>("{job_id}", jobs_[kind]),
                                      std::pair<std::string, std::string>("{page}", "0")}) {
      const std::size_t at = path.find(name);
      if (at != std::string::npos) path.replace(at, name.size(), value);
    }
    return path;
  }

  Answer call(const Route& route, Kind kind, const std::string& with_key) {
    return send({.method = std::string(name(route.method)), .path = path_of(route, kind), .key = with_key});
  }

  std::map<Kind, std::string> jobs_;
};

std::vector<const Route*> job_routes() {
  std::vector<const Route*> out;
  for (const Route& route : routes()) {
    if (route.pattern.find("{job_id}") != std::string_view::npos) out.push_back(&route);
  }
  return out;
}

bool has_canary(const Answer& answer) { return answer.body.find(kCanary) != std::string::npos; }

TEST_F(JobScopes, ContentsAndRetriesNeedTheScopeOfTheKind) {
  std::set<std::string_view> guarded;
  for (const Route* route : job_routes()) {
    if (route->needs_kind_scope) guarded.insert(route->pattern);
  }
  EXPECT_EQ(guarded, (std::set<std::string_view>{"/v1/jobs/{job_id}/result", "/v1/jobs/{job_id}/request",
                                                 "/v1/jobs/{job_id}/pages/{page}/picture",
                                                 "/v1/jobs/{job_id}/retry", "/v1/jobs/{job_id}"}));
  for (const auto& [scope, who] : key_per_scope({Scope::kJobsRead, Scope::kJobsWrite})) {
    for (const Kind kind : kShownKinds) {
      const bool is_shown = scope == required_scope(kind);
      for (const Route* route : job_routes()) {
        if (is_shown && route->method == Method::kDelete) continue;  // the next scopes need the job
        const std::string what = std::string(schemas::name(scope)) + " " + std::string(route->pattern) + " " +
                                 std::string(schemas::name(kind));
        const Answer answer = call(*route, kind, who);
        EXPECT_EQ(answer.status == 403, route->needs_kind_scope && !is_shown) << what << answer.body;
        EXPECT_FALSE(!is_shown && has_canary(answer)) << what << answer.body;
      }
    }
  }
}

TEST_F(JobScopes, AKeyWithOneScopeReachesOnlyTheRoutesOfThatScope) {
  for (const auto& [scope, who] : key_per_scope({})) {
    for (const Kind kind : kShownKinds) {
      for (const Route* route : job_routes()) {
        const bool may = scope == route->scope && !route->needs_kind_scope;
        EXPECT_EQ(call(*route, kind, who).status != 403, may)
            << schemas::name(scope) << " " << route->pattern << " " << schemas::name(kind);
      }
    }
  }
}

TEST_F(JobScopes, AKeyWithTheScopeOfTheKindSeesAll) {
  for (const Kind kind : kShownKinds) {
    const std::string who = key({Scope::kJobsRead, required_scope(kind)});
    for (const char* below : {"", "/result", "/request", "/events"}) {
      const Answer answer = send({.path = "/v1/jobs/" + jobs_[kind] + below, .key = who});
      EXPECT_TRUE(has_canary(answer)) << schemas::name(kind) << below << answer.body;
    }
  }
}

TEST_F(JobScopes, AListShowsAndSearchesOnlyTheNamesThatTheKeyMayRead) {
  const auto listed = [&](const std::string& query, const std::string& who) {
    return send({.path = "/v1/jobs" + query, .key = who});
  };
  const std::string states_only = key({Scope::kJobsRead});
  const Answer all = listed("", states_only);
  EXPECT_EQ(all.json()["items"].size(), kShownKinds.size());
  EXPECT_FALSE(has_canary(all)) << all.body;
  EXPECT_EQ(listed("?q=canary", states_only).json()["items"].size(), 0u);
  for (const Kind kind : kShownKinds) {
    const auto found = listed("?q=canary", key({Scope::kJobsRead, required_scope(kind)})).json()["items"];
    ASSERT_EQ(found.size(), 1u) << schemas::name(kind);
    EXPECT_EQ(found[0]["id"], jobs_[kind]);
  }
}

TEST_F(JobScopes, AnAdministratorWithoutTheScopeOfTheKindSeesNoContentsEither) {
  const std::string admin = key({Scope::kAdmin});
  for (const char* path :
       {"/v1/admin/jobs", "/v1/admin/dead", "/v1/admin/jobs?q=CANARY", "/v1/admin/overview"}) {
    const Answer answer = send({.path = path, .key = admin});
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_FALSE(has_canary(answer)) << path << answer.body;
  }
  const TestRequest retry{.method = "POST",
                          .path = "/v1/admin/jobs/retry",
                          .key = admin,
                          .body = R"({"filter":{"kind":"chat"}})"};
  EXPECT_EQ(send(retry).status, 403);
  EXPECT_EQ(get("/v1/jobs?kind=chat").json()["items"].size(), 1u) << "nothing was repeated";
}

}  // namespace
}  // namespace millrace::api::test
