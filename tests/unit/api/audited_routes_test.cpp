#include <functional>
#include <map>
#include <set>

#include "api/routing/route.h"
#include "storage/admin/audit.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/executions.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;

// Routes that change something and leave no row, each with the reason.
const std::map<std::string, std::string> kNotAudited{
    {"POST /v1/chat/completions", "the work of a tenant; a deferred one is a job"},
    {"POST /v1/embeddings", "the work of a tenant"},
    {"POST /v1/images/generations", "the work of a tenant"},
    {"POST /v1/audio/speech", "the work of a tenant"},
    {"POST /v1/audio/transcriptions", "a job, with a history of its own"},
    {"POST /v1/audio/translations", "a job, with a history of its own"},
    {"POST /v1/ocr", "a job, with a history of its own"},
    {"POST /v1/files", "the work of a tenant; its deletion is audited"},
    {"POST /v1/uploads", "the work of a tenant; it makes no file yet"},
    {"POST /v1/uploads/{upload_id}/parts", "the work of a tenant"},
    {"POST /v1/uploads/{upload_id}/complete", "as POST /v1/files"},
    {"POST /v1/uploads/{upload_id}/cancel", "the work of a tenant; there is no file yet"},
    {"POST /v1/webhooks/{webhook_id}/test", "in the log of deliveries"},
    {"POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", "in the log of deliveries"},
    {"POST /v1/jobs/{job_id}/cancel", "in the job's history; of an execution, audited"},
    {"POST /v1/jobs/{job_id}/retry", "a job, with a history of its own"},
};

// A request of a batch with an unknown model: it costs nothing.
const std::string kInlineBatch =
    R"({"endpoint":"/v1/ocr","requests":[{"custom_id":"a","body":{"model":"none"}}]})";

class AuditedRoutes : public Executions {
 protected:
  AuditedRoutes() {
    Executions::begin();
    admin_ = key(schemas::ScopeSet::all());
    report_worker();
  }
  void report_worker() {
    std::promise<bool> reported;
    storage::JobClaims(*store).heartbeat({"w-1", base::Uuid::make(clock.wall()), "box", "1", {}}, {},
                                         std::chrono::seconds(20),
                                         [&](const auto& reply) { reported.set_value(reply.has_value()); });
    ASSERT_TRUE(reported.get_future().get());
  }
  static bool refuses_keys(const std::string& path) {
    return path.starts_with("/v1/admin/") || path == "/v1/webhooks" || path.ends_with("/rotate");
  }
  Answer call(const std::string& method, const std::string& path, const std::string& body = {}) {
    return send(
        {.method = method,
         .path = path,
         .key = admin_,
         .headers = refuses_keys(path) ? "" : "Idempotency-Key: audit-" + std::to_string(++calls_) + "\r\n",
         .body = body});
  }
  // A call that waits for the execution that it makes.
  Answer call_with_worker(const std::string& method, const std::string& path) {
    Connection client(server->port());
    client.send({.method = method, .path = path, .key = admin_});
    std::optional<storage::ClaimedJob> job;
    EXPECT_TRUE(support::wait_until([&] {
      job = claim(schemas::Kind::kExec);
      return job && schemas::execution_spec_from_json(job->spec)->file;
    }));
    if (job) finish(job->lease, exit(0, 1));
    return client.answer();
  }
  std::string new_key() {
    return call("POST", "/v1/admin/keys", R"({"name":"n","scopes":["ocr"]})").json().value("id", "");
  }
  // Operations that earlier calls have left are done first.
  std::string awake_machine() {
    while (!act().empty()) {
    }
    return "/v1/machines/" + machine();
  }
  std::string machine_with_ssh() {
    while (!act().empty()) {
    }
    return "/v1/machines/" + ssh_machine("build-" + std::to_string(++calls_), 2222) + "/ssh";
  }
  std::string artifact() {
    const storage::Lease lease = (make(), this->lease());
    leave(lease, id_, "a.txt", "x");
    return "/v1/machines/" + id_ + "/artifacts/" +
           get("/v1/machines/" + id_ + "/artifacts").json()["items"][0].value("artifact_id", "");
  }
  std::size_t rows() { return storage::Audit(*store).rows(0, 10'000)->size(); }

  // Each makes what it needs and returns the call itself.
  using Act = std::function<std::function<Answer()>()>;
  Act simple(const std::string& method, const std::string& path, const std::string& body = {}) {
    return [=, this] { return [=, this] { return call(method, path, body); }; };
  }
  using Acts = std::map<std::string, Act>;
  Act of_key(const std::string& method, const std::string& below, const std::string& body) {
    return [=, this] {
      return [=, this, id = new_key()] { return call(method, "/v1/admin/keys/" + id + below, body); };
    };
  }
  Act of_machine(const std::string& method, const std::string& below, const std::string& body = {}) {
    return
        [=, this] { return [=, this, path = awake_machine()] { return call(method, path + below, body); }; };
  }
  std::string stored_file() {
    const std::string body =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n";
    return send({.method = "POST",
                 .path = "/v1/files",
                 .key = admin_,
                 .body = body,
                 .type = "multipart/form-data; boundary=b"})
        .json()
        .value("id", "");
  }
  std::string batch() { return call("POST", "/v1/batch/jobs", kInlineBatch).json().value("id", ""); }
  Act of_file(const std::string& method) {
    return [=, this] {
      return [=, this, path = awake_machine()] { return call_with_worker(method, path + "/files/a"); };
    };
  }
  Acts acts_of_operators() {
    return {
        {"POST /v1/admin/queues/{kind}/pause", simple("POST", "/v1/admin/queues/ocr/pause")},
        {"POST /v1/admin/queues/{kind}/resume",
         [this] {
           call("POST", "/v1/admin/queues/stt/pause");
           return [this] { return call("POST", "/v1/admin/queues/stt/resume"); };
         }},
        {"POST /v1/admin/workers/{worker}/drain", simple("POST", "/v1/admin/workers/w-1/drain")},
        {"POST /v1/admin/jobs/cancel", simple("POST", "/v1/admin/jobs/cancel", R"({"filter":{}})")},
        {"POST /v1/admin/jobs/retry", simple("POST", "/v1/admin/jobs/retry", R"({"filter":{}})")},
        {"POST /v1/admin/jobs/delete",
         simple("POST", "/v1/admin/jobs/delete", R"({"filter":{"kind":"chat"}})")},
        {"DELETE /v1/jobs/{job_id}",
         [this] {
           const std::string id = make();
           call("DELETE", root_ + "/" + id);  // cancels it
           return [=, this] { return call("DELETE", "/v1/jobs/" + id); };
         }},
        {"DELETE /v1/files/{file_id}",
         [this] {
           const std::string id = stored_file();
           return [=, this] { return call("DELETE", "/v1/files/" + id); };
         }},
        {"POST /v1/batches",
         [this] {
           const std::string body = R"({"endpoint":"/v1/ocr","completion_window":"24h","input_file_id":")" +
                                    stored_file() + R"("})";
           return [=, this] { return call("POST", "/v1/batches", body); };
         }},
        {"POST /v1/batches/{batch_id}/cancel",
         [this] {
           const std::string id = batch();
           return [=, this] { return call("POST", "/v1/batches/" + id + "/cancel"); };
         }},
        {"POST /v1/batch/jobs", simple("POST", "/v1/batch/jobs", kInlineBatch)},
        {"POST /v1/batch/jobs/{batch_id}/cancel",
         [this] {
           const std::string id = batch();
           return [=, this] { return call("POST", "/v1/batch/jobs/" + id + "/cancel"); };
         }},
        {"POST /v1/admin/keys", simple("POST", "/v1/admin/keys", R"({"name":"n"})")},
        {"PATCH /v1/admin/keys/{key_id}", of_key("PATCH", "", R"({"models":["x"]})")},
        {"DELETE /v1/admin/keys/{key_id}", of_key("DELETE", "", "")},
        {"POST /v1/admin/keys/{key_id}/rotate", of_key("POST", "/rotate", "{}")},
        {"PUT /v1/admin/tenants/{tenant}",
         simple("PUT", "/v1/admin/tenants/acme", R"({"limits":{"machines":100}})")},
    };
  }
  Act of_webhook(const std::string& method, const std::string& below, const std::string& body = {}) {
    return [=, this] {
      const std::string id = call("POST", "/v1/webhooks", kWebhook).json().value("id", "");
      return [=, this] { return call(method, "/v1/webhooks/" + id + below, body); };
    };
  }
  Acts acts_of_webhooks() {
    return {
        {"POST /v1/webhooks", simple("POST", "/v1/webhooks", kWebhook)},
        {"PATCH /v1/webhooks/{webhook_id}", of_webhook("PATCH", "", R"({"kinds":["ocr"]})")},
        {"DELETE /v1/webhooks/{webhook_id}", of_webhook("DELETE", "")},
        {"POST /v1/webhooks/{webhook_id}/rotate", of_webhook("POST", "/rotate")},
    };
  }
  Acts acts_of_machines() {
    return {
        {"POST /v1/machines", simple("POST", "/v1/machines", "{}")},
        {"PATCH /v1/machines/{machine_id}", of_machine("PATCH", "", R"({"name":"renamed"})")},
        {"DELETE /v1/machines/{machine_id}", of_machine("DELETE", "")},
        {"POST /v1/machines/{machine_id}/sleep", of_machine("POST", "/sleep")},
        {"POST /v1/machines/{machine_id}/wake",
         [this] {
           const std::string path = awake_machine();
           call("POST", path + "/sleep");
           act();
           return [=, this] { return call("POST", path + "/wake"); };
         }},
        {"POST /v1/machines/{machine_id}/reboot", of_machine("POST", "/reboot", "{}")},
        {"POST /v1/machines/{machine_id}/ssh",
         [this] { return [this, path = machine_with_ssh()] { return call("POST", path, ssh_body_); }; }},
        {"DELETE /v1/machines/{machine_id}/ssh/{session_id}",
         [this] {
           const std::string path = machine_with_ssh();
           const std::string id = call("POST", path, ssh_body_).json().value("session_id", "");
           return [=, this] { return call("DELETE", path + "/" + id); };
         }},
    };
  }
  Acts acts_of_executions() {
    return {
        {"POST /v1/machines/{machine_id}/executions", of_machine("POST", "/executions", kTrue)},
        {"PUT /v1/machines/{machine_id}/files/{path...}", of_file("PUT")},
        {"DELETE /v1/machines/{machine_id}/files/{path...}", of_file("DELETE")},
        {"DELETE /v1/machines/{machine_id}/executions/{execution_id}",
         [this] { return [this, id = make()] { return call("DELETE", root_ + "/" + id); }; }},
        {"DELETE /v1/machines/{machine_id}/artifacts/{artifact_id}",
         [this] { return [this, path = artifact()] { return call("DELETE", path); }; }},
    };
  }
  Acts acts() {
    Acts all = acts_of_operators();
    all.merge(acts_of_machines());
    all.merge(acts_of_webhooks());
    all.merge(acts_of_executions());
    return all;
  }

  static constexpr const char* kWebhook = R"({"url":"https://app.example/"})";
  const std::string ssh_body_ = json{{"public_key", machines::make_key_pair().public_key.line()}}.dump();
  std::string admin_;
  int calls_ = 0;
};

TEST_F(AuditedRoutes, EveryRouteThatChangesSomethingLeavesARowOrIsListedWithAReason) {
  std::set<std::string> mutating, covered;
  for (const Route& route : routes()) {
    if (route.method != Method::kGet)
      mutating.insert(std::string(name(route.method)).append(" ").append(route.pattern));
  }
  for (const auto& [route, reason] : kNotAudited) covered.insert(route);
  for (const auto& [route, prepare] : acts()) {
    covered.insert(route);
    const auto act = prepare();
    const std::size_t before = rows();
    const Answer answer = act();
    EXPECT_TRUE(answer.status >= 200 && answer.status < 300) << route << " " << answer.status << answer.body;
    EXPECT_GT(rows(), before) << route;
  }
  EXPECT_EQ(covered, mutating);
}

TEST_F(AuditedRoutes, ARefusedKeyLeavesOneRowWithACount) {
  const std::string revoked = key();
  const std::string id(*schemas::key_id(revoked));
  ASSERT_TRUE(revoke_key(*store, id));
  ASSERT_TRUE(
      support::wait_until([&] { return send({.path = "/v1/models", .key = revoked}).status == 401; }));
  const auto refusals = [&] {
    std::vector<storage::AuditRow> out;
    const auto all = storage::Audit(*store).rows(0, 10'000).value();
    for (const storage::AuditRow& row : all) {
      if (row.entry.act == "key.refuse" && row.entry.target == id) out.push_back(row);
    }
    return out;
  };
  ASSERT_TRUE(support::wait_until([&] { return !refusals().empty(); }));
  const auto row = refusals().front();
  const json data = json::parse(row.entry.data);
  EXPECT_EQ(data["address"], "127.0.0.1");
  EXPECT_GE(data["count"], 1);
  EXPECT_EQ(row.entry.tenant, "default");
  for (int i = 0; i < 50; ++i) send({.path = "/v1/models", .key = revoked});
  EXPECT_EQ(refusals().size(), 1u) << "at most one per minute";
}

}  // namespace
}  // namespace millrace::api::test
