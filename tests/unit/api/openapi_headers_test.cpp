#include <set>

#include <gtest/gtest.h>

#include "api/openapi/openapi.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;

// Compares the headers of real responses with the OpenAPI document.
class OpenApiHeaders : public Served {
 protected:
  // Checks that every header of `answer` is documented, and that `wanted` are among them.
  void expect(const Answer& answer, int status, const std::string& path, const std::string& method,
              const std::set<std::string>& wanted = {}) {
    ASSERT_EQ(answer.status, status) << method << path << answer.body;
    const json& reply = document_["paths"][path][method]["responses"][std::to_string(status)];
    for (const auto& [name, value] : answer.headers) {
      const bool of_http = name.starts_with("content-") || name == "date" || name == "connection";
      EXPECT_TRUE(of_http || reply["headers"].contains(name)) << method << path << status << name;
    }
    for (const std::string& name : wanted) EXPECT_TRUE(answer.has(name)) << method << path << status << name;
  }
  Answer ocr(const std::string& headers = {}, const std::string& more = {}) {
    return post("/v1/ocr", ocr_body(pdf_of(9), more), headers);
  }
  static std::set<std::string> rate(std::set<std::string> others = {}) {
    for (const char* what : {"limit", "remaining", "reset"})
      others.insert("x-ratelimit-" + std::string(what) + "-requests");
    return others;
  }

 private:
  json document_ = json::parse(openapi_document());
};

TEST_F(OpenApiHeaders, OfEveryResponseOfAJobsLifecycle) {
  start_limited(schemas::Quota::kRequestsPerMinute, 1000);
  const Answer made = ocr(std::string(kAsync) + "Idempotency-Key: k\r\n", R"(,"color":1)");
  expect(made, 202, "/v1/ocr", "post", rate({"location", "x-millrace-job", "x-millrace-dropped-params"}));
  const std::string id = made.json()["id"], path = "/v1/jobs/" + id;
  expect(get(path), 200, "/v1/jobs/{job_id}", "get", rate({"x-millrace-job"}));
  expect(get(path + "/result"), 202, "/v1/jobs/{job_id}/result", "get", {"x-millrace-job"});
  expect(get(path + "/result?pages=x"), 422, "/v1/jobs/{job_id}/result", "get",
         rate({"x-millrace-job", "x-should-retry"}));
  expect(get(path + "/events"), 200, "/v1/jobs/{job_id}/events", "get", {"x-millrace-job"});
  expect(get("/v1/jobs"), 200, "/v1/jobs", "get", rate());
  finish(claim()->lease, R"({"pages":[]})");
  expect(ocr("Idempotency-Key: k\r\n", R"(,"color":1)"), 200, "/v1/ocr", "post",
         {"x-millrace-job", "idempotent-replayed", "x-millrace-dropped-params"});
  expect(ocr("Idempotency-Key: k\r\n"), 409, "/v1/ocr", "post", {"x-should-retry"});
  expect(post(path + "/cancel", ""), 200, "/v1/jobs/{job_id}/cancel", "post", {"x-millrace-job"});
  expect(post(path + "/retry", ""), 409, "/v1/jobs/{job_id}/retry", "post",
         {"x-millrace-job", "x-should-retry"});
}

TEST_F(OpenApiHeaders, OfEveryResponseOfAnExecutionsLifecycle) {
  start_limited(schemas::Quota::kRequestsPerMinute, 1000);
  const std::string all = "/v1/machines/{machine_id}/executions", one = all + "/{execution_id}";
  const std::string root = "/v1/machines/" + machine() + "/executions";
  const auto create = [&](const std::string& body) { return post(root, body, "Idempotency-Key: k\r\n"); };
  const Answer made = create(R"({"command":["true"]})");
  expect(made, 200, all, "post", rate({"x-millrace-job"}));
  expect(create(R"({"command":["true"]})"), 200, all, "post",
         rate({"x-millrace-job", "idempotent-replayed"}));
  expect(create(R"({"command":["false"]})"), 409, all, "post", rate({"x-should-retry"}));
  expect(create("{}"), 422, all, "post", rate({"x-should-retry"}));
  expect(get(root), 200, all, "get", rate());
  expect(get("/v1/machines"), 200, "/v1/machines", "get", rate());
  const std::string path = root + "/" + made.header("x-millrace-job");
  expect(get(path), 200, one, "get", rate({"x-millrace-job"}));
  expect(get(path + "/output"), 200, one + "/output", "get", rate({"x-millrace-job"}));
  expect(get(path + "/events"), 200, one + "/events", "get", rate({"x-millrace-job"}));
  expect(remove(path), 200, one, "delete", rate({"x-millrace-job"}));
  expect(remove(path), 200, one, "delete", rate({"x-millrace-job"}));
  expect(remove(path), 404, one, "delete", rate({"x-millrace-job", "x-should-retry"}));
}

TEST_F(OpenApiHeaders, OfEveryResponseOfAMachinesLifecycle) {
  start_limited(schemas::Quota::kRequestsPerMinute, 1000);
  const std::string all = "/v1/machines", one = all + "/{machine_id}", once = "Idempotency-Key: k\r\n";
  const Answer made = post(all, "", once);
  expect(made, 200, all, "post", rate());
  expect(post(all, "", once), 200, all, "post", rate({"idempotent-replayed"}));
  expect(post(all, R"({"vcpu":2})", once), 409, all, "post", rate({"x-should-retry"}));
  const std::string path = all + "/" + made.json()["machine_id"].get<std::string>();
  const auto execute = [&] { return post(path + "/executions", R"({"command":["true"]})", once); };
  expect(execute(), 200, one + "/executions", "post", rate({"x-millrace-job", "retry-after-ms"}));
  expect(get(path + "/executions/" + execute().header("x-millrace-job")), 200,
         one + "/executions/{execution_id}", "get", rate({"x-millrace-job", "retry-after-ms"}));
  expect(post(path + "/sleep", ""), 409, one + "/sleep", "post", rate({"x-should-retry"}));
  expect(post(path + "/wake", ""), 200, one + "/wake", "post", rate());
  expect(remove(path), 200, one, "delete", rate());
}

TEST_F(OpenApiHeaders, OfAnArtifactsBytes) {
  start_limited(schemas::Quota::kRequestsPerMinute, 1000);
  const std::string one = "/v1/machines/{machine_id}/artifacts/{artifact_id}/content";
  const std::string id = machine(), root = "/v1/machines/" + id;
  post(root + "/executions", R"({"command":["true"]})", "Idempotency-Key: k\r\n");
  leave(claim(schemas::Kind::kExec)->lease, id, "a.txt", "hello");
  const std::string path = root + "/artifacts/" +
                           get(root + "/artifacts").json()["items"][0]["artifact_id"].get<std::string>() +
                           "/content";
  const Answer whole = get(path);
  expect(whole, 200, one, "get", rate({"etag", "accept-ranges", "content-disposition"}));
  expect(get(path, "Range: bytes=1-2\r\n"), 206, one, "get", rate({"etag", "content-range"}));
  expect(get(path, "Range: bytes=9-\r\n"), 416, one, "get", rate({"content-range", "x-should-retry"}));
  expect(get(path, "If-None-Match: *\r\n"), 304, one, "get", rate({"etag"}));
}

TEST_F(OpenApiHeaders, OfAnSshSession) {
  start_limited(schemas::Quota::kRequestsPerMinute, 1000);
  const std::string all = "/v1/machines/{machine_id}/ssh", once = "Idempotency-Key: k\r\n";
  const std::string root = "/v1/machines/" + new_machine() + "/ssh";
  const std::string body = json{{"public_key", machines::make_key_pair().public_key.line()}}.dump();
  const Answer made = post(root, body, once);
  expect(made, 200, all, "post", rate({"retry-after-ms"}));
  expect(post(root, body, once), 200, all, "post", rate({"retry-after-ms", "idempotent-replayed"}));
  expect(post(root, body), 400, all, "post", rate({"x-should-retry"}));
  const std::string path = root + "/" + made.json()["session_id"].get<std::string>();
  expect(get(path), 200, all + "/{session_id}", "get", rate({"retry-after-ms"}));
  expect(remove(path), 200, all + "/{session_id}", "delete", rate());
}

TEST_F(OpenApiHeaders, OfFailuresThatAJobHasStored) {
  start();
  const std::pair<base::Code, int> ends[] = {
      {base::Code::kPoisonJob, 500}, {base::Code::kFetchFailed, 502}, {base::Code::kDocumentDamaged, 422}};
  for (const auto& [code, status] : ends) {
    const std::string path = "/v1/jobs/" + ocr(kAsync).header("x-millrace-job");
    fail(claim()->lease, code, "broken");
    expect(get(path + "/result"), status, "/v1/jobs/{job_id}/result", "get",
           {"x-millrace-job", "x-should-retry"});
    const Answer again = post(path + "/retry", "");
    expect(again, 202, "/v1/jobs/{job_id}/retry", "post", {"location", "x-millrace-job"});
    post("/v1/jobs/" + again.header("x-millrace-job") + "/cancel", "");
  }
}

TEST_F(OpenApiHeaders, OfAWaitThatIsOver) {
  start({.sync_wait = std::chrono::milliseconds(1)});
  expect(ocr(), 504, "/v1/ocr", "post", {"location", "x-millrace-job", "x-should-retry"});
  expect(ocr("Prefer: respond-async, wait=1\r\n"), 202, "/v1/ocr", "post",
         {"location", "preference-applied", "x-millrace-job"});
}

TEST_F(OpenApiHeaders, OfRefusals) {
  start_limited(schemas::Quota::kRequestsPerMinute, 1);
  expect(send({.path = "/v1/models"}), 401, "/v1/models", "get", {"www-authenticate", "x-should-retry"});
  expect(send({.path = "/v1/models", .key = key({schemas::Scope::kOcr})}), 403, "/v1/models", "get");
  expect(get("/v1/models/none"), 404, "/v1/models/{model}", "get", rate({"x-should-retry"}));
  expect(get("/v1/models"), 429, "/v1/models", "get", rate({"retry-after", "retry-after-ms"}));
  expect(send({.method = "DELETE", .path = "/v1/models"}), 405, "/v1/models", "get", {"allow"});
  const auto expectation = send({.path = "/v1/models", .key = owner, .headers = "Expect: tea\r\n"});
  expect(expectation, 417, "/v1/models", "get", {"x-should-retry"});
  const auto coding = send({.path = "/v1/models", .key = owner, .headers = "Transfer-Encoding: gzip\r\n"});
  expect(coding, 501, "/v1/models", "get", {"x-should-retry"});
  const auto coded = send({.method = "POST",
                           .path = "/v1/ocr",
                           .key = key({schemas::Scope::kOcr}),
                           .headers = "Content-Encoding: gzip\r\n",
                           .body = "{}"});
  expect(coded, 415, "/v1/ocr", "post", rate({"accept-encoding", "x-should-retry"}));
  service->drain();
  expect(send({.path = "/readyz"}), 503, "/readyz", "get", {"retry-after", "retry-after-ms"});
}

}  // namespace
}  // namespace millrace::api::test
