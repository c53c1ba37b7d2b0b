#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using schemas::Scope;

class Guard : public Served {};

TEST_F(Guard, OpenRoutesNeedNoKey) {
  start();
  for (const char* path : {"/", "/health", "/livez", "/readyz", "/version", "/openapi.json"}) {
    const Answer answer = send({.path = path});
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    EXPECT_TRUE(answer.json().is_object()) << path;
  }
}

TEST_F(Guard, ChecksInTheOrderOfTheContract) {
  start();
  const std::string models_only = key({Scope::kModels});
  const std::string huge = "Content-Length: 99999999999\r\n";
  const std::string text = "Content-Type: text/plain\r\n";
  const std::string unknown_client = schemas::make_key_text();
  const auto status = [&](const std::string& method, const std::string& path, const std::string& with_key,
                          const std::string& headers) {
    return send({.method = method, .path = path, .key = with_key, .headers = headers}).status;
  };
  ASSERT_EQ(status("GET", "/v1/models", models_only, ""), 200);
  EXPECT_EQ(status("POST", "/nowhere", "", text + huge), 404);
  EXPECT_EQ(status("PATCH", "/v1/ocr", "", text + huge), 405);
  EXPECT_EQ(status("POST", "/v1/ocr", "", text + huge), 401);
  EXPECT_EQ(status("POST", "/v1/ocr", unknown_client, text + huge), 401);
  EXPECT_EQ(status("POST", "/v1/ocr", models_only, text + huge), 403);
  EXPECT_EQ(status("POST", "/v1/ocr", owner, text + huge), 415);
  EXPECT_EQ(status("POST", "/v1/ocr", owner, "Content-Type: application/json\r\n" + huge), 413);
  EXPECT_EQ(post("/v1/ocr", "{").status, 400);
  EXPECT_EQ(post("/v1/ocr", "{}").status, 422);
  EXPECT_EQ(get("/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001").status, 404);
}

TEST_F(Guard, APathOrAQueryThatIsNotUtf8IsRefusedByName) {
  start();
  const Answer query = get("/v1/jobs?limit=3&kind=%FF");
  EXPECT_EQ(query.status, 400) << query.body;
  EXPECT_EQ(query.json()["error"]["param"], "kind");
  EXPECT_EQ(get("/v1/jobs?%FF=3").status, 400);
  const Answer path = get("/v1/models/%C3%28");
  EXPECT_EQ(path.status, 400) << path.body;
  EXPECT_EQ(path.json()["error"]["param"], "path");
  EXPECT_EQ(get("/v1/models/%C3%A4").status, 404);
  EXPECT_EQ(send({.path = "/v1/models/%FF"}).status, 401) << "the key is checked first";
}

TEST_F(Guard, AnEmptyPartOfAQueryIsNoParameter) {
  start();
  std::string most;
  for (int i = 0; i < 100; ++i) most += "&p" + std::to_string(i) + "=1";
  for (const std::string& query : {most.substr(1), most.substr(1) + "&", "&" + most + "&&"})
    EXPECT_EQ(get("/v1/jobs?" + query).status, 422) << "they are unknown, and not too many";
  EXPECT_EQ(get("/v1/jobs?more=1" + most).status, 400);
  EXPECT_EQ(get("/v1/jobs?limit=1&").status, 200);
  EXPECT_EQ(get("/v1/jobs?" + std::string(200, '&') + "limit=1").status, 200);
}

TEST_F(Guard, A405NamesWhatThePathTakes) {
  start();
  for (const char* method : {"OPTIONS", "TRACE", "BREW", "DELETE"}) {
    const Answer answer = send({.method = method, .path = "/v1/jobs"});
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.header("allow"), "GET, HEAD");
  }
}

TEST_F(Guard, A401SaysBearer) {
  start();
  const Answer answer = send({.path = "/v1/models"});
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.header("www-authenticate"), "Bearer");
  EXPECT_EQ(answer.header("x-should-retry"), "false");
  EXPECT_EQ(answer.json()["error"]["code"], "invalid_api_key");
}

TEST_F(Guard, AKeyWithoutItsSchemeGetsAnErrorThatSaysHowToSendIt) {
  start();
  const auto said = [&](const std::string& headers) {
    const Answer answer = send({.path = "/v1/models", .headers = headers});
    EXPECT_EQ(answer.status, 401);
    return answer.json()["error"]["message"].get<std::string>();
  };
  const std::string bare = said("Authorization: " + owner + "\r\n");
  EXPECT_NE(bare.find("contains no Bearer key: send `Authorization: Bearer KEY`"), std::string::npos) << bare;
  EXPECT_NE(said("").find("No API key was sent"), std::string::npos);
}

TEST_F(Guard, ABodyWithAContentCodingIs415AndTheErrorNamesWhatIsAccepted) {
  start();
  const std::string unknown_client = key({Scope::kOcr});  // not in the cache yet
  for (const std::string& who : {owner, unknown_client}) {
    for (const char* coding : {"gzip", "br", "identity, gzip"}) {
      const Answer answer = send({.method = "POST",
                                  .path = "/v1/ocr",
                                  .key = who,
                                  .headers = std::string("Content-Encoding: ") + coding + "\r\n",
                                  .body = "{}"});
      EXPECT_EQ(answer.status, 415) << coding;
      EXPECT_EQ(answer.header("accept-encoding"), "identity") << coding;
      EXPECT_NE(answer.body.find("Content-Encoding"), std::string::npos) << answer.body;
    }
  }
  EXPECT_EQ(post("/v1/ocr", "{}", "Content-Encoding: Identity\r\n").status, 422);
  EXPECT_EQ(get("/v1/models", "Content-Encoding: gzip\r\n").status, 200);
  EXPECT_FALSE(send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = "{}", .type = "text/plain"})
                   .has("accept-encoding"));
}

TEST_F(Guard, TakesBothCredentialFormsAndLetsANonEmptyBearerDecide) {
  start();
  const std::string bad = schemas::make_key_text();
  const auto status = [&](const std::string& headers) {
    return send({.path = "/v1/models", .headers = headers}).status;
  };
  EXPECT_EQ(status("Authorization: Bearer " + owner + "\r\n"), 200);
  EXPECT_EQ(status("AUTHORIZATION: bearer   " + owner + "\r\n"), 200);
  EXPECT_EQ(status("X-API-Key: " + owner + "\r\n"), 200);
  EXPECT_EQ(status("x-api-key: " + owner + "\r\n"), 200);
  EXPECT_EQ(status("Authorization: Bearer " + owner + "\r\nX-API-Key: " + bad + "\r\n"), 200);
  EXPECT_EQ(status("Authorization: Bearer " + bad + "\r\nX-API-Key: " + owner + "\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer \r\nX-API-Key: " + owner + "\r\n"), 200);
  EXPECT_EQ(status("Authorization: Bearer\r\nX-API-Key: " + owner + "\r\n"), 200);
  EXPECT_EQ(status("Authorization: Basic abc\r\nX-API-Key: " + owner + "\r\n"), 200);
  EXPECT_EQ(status("Authorization: Basic abc\r\n"), 401);
  EXPECT_EQ(status("Authorization:\r\nX-API-Key:\r\n"), 401);
  std::string other = owner;
  other.back() = owner.back() == 'x' ? 'y' : 'x';
  EXPECT_EQ(status("X-API-Key: " + other + "\r\n"), 401);
  EXPECT_EQ(status("X-API-Key: nonsense\r\n"), 401);
}

TEST_F(Guard, ANewKeyWorksAtOnce) {
  start();
  EXPECT_EQ(send({.path = "/v1/models", .key = key()}).status, 200);
}

TEST_F(Guard, AnUnknownKeyIsLookedUpAndThenRefused) {
  start();
  const Answer answer = send({.path = "/v1/models", .key = schemas::make_key_text()});
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.json()["error"]["code"], "invalid_api_key");
}

TEST_F(Guard, AKeyThatIsNotInMemoryYetIsStillCheckedBeforeScopeAndType) {
  start();
  const auto status = [&](const std::string& with_key) {
    return send({.method = "POST", .path = "/v1/ocr", .key = with_key, .body = "{}", .type = "text/plain"})
        .status;
  };
  EXPECT_EQ(status(schemas::make_key_text()), 401);
  EXPECT_EQ(status(key({Scope::kModels})), 403);
  EXPECT_EQ(status(key()), 415);
}

TEST_F(Guard, ARevokedKeyWorksNowhereSoonAfter) {
  start();
  ASSERT_EQ(get("/v1/models").status, 200);
  ASSERT_TRUE(revoke_key(*store, std::string(*schemas::key_id(owner))).has_value());
  EXPECT_TRUE(support::wait_until([&] { return get("/v1/models").status == 401; }));
}

TEST_F(Guard, AnExpiredKeyIsRefused) {
  start();
  const auto made =
      create_key(*store, pepper_text,
                 {.name = "old", .tenant = "default", .expires_at = clock.wall() - std::chrono::seconds(1)});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(send({.path = "/v1/models", .key = made->text}).status, 401);
}

TEST_F(Guard, AUsedKeyKnowsWhenItWasUsed) {
  start();
  ASSERT_EQ(get("/v1/models").status, 200);
  const std::string id(*schemas::key_id(owner));
  EXPECT_TRUE(support::wait_until([&] {
    const auto row = storage::ApiKeys(*store).find(id);
    return row && *row && (*row)->last_used_at.has_value();
  }));
}

TEST_F(Guard, ARequestIdIsEchoedIfItIsOneAndMadeElse) {
  start();
  EXPECT_EQ(send({.path = "/health", .headers = "X-Request-Id: a.b_c-9\r\n"}).header("x-request-id"),
            "a.b_c-9");
  for (const std::string& bad : {std::string("a b"), std::string("a/b"), std::string(129, 'x')}) {
    const std::string made =
        send({.path = "/health", .headers = "X-Request-Id: " + bad + "\r\n"}).header("x-request-id");
    EXPECT_EQ(made.size(), 32u);
  }
  EXPECT_TRUE(send({.path = "/nowhere"}).has("x-request-id"));
}

TEST_F(Guard, ARequestIdIsEchoedOnEveryErrorWhoseHeadWasReadable) {
  start();
  const std::string id = "X-Request-Id: mine-1\r\n";
  const auto check = [&](int status, const std::string& request) {
    Connection connection(server->port());
    connection.send_text(request);
    const Answer answer = connection.answer();
    EXPECT_EQ(answer.status, status) << request.substr(0, 80);
    EXPECT_EQ(answer.header("x-request-id"), "mine-1") << status;
  };
  const std::string get = "GET /health HTTP/1.1\r\nHost: a\r\n" + id;
  const std::string cancel = "POST /v1/jobs/x/cancel HTTP/1.1\r\nHost: a\r\nX-API-Key: " + owner +
                             "\r\nContent-Type: application/json\r\n" + id;
  std::string many;
  for (int i = 0; i < 129; ++i) many += "X: y\r\n";
  ASSERT_EQ(send({.path = "/v1/models", .key = owner}).status, 200);  // in the cache from now on
  check(404, "GET /nowhere HTTP/1.1\r\nHost: a\r\n" + id + "\r\n");
  check(405, "DELETE /health HTTP/1.1\r\nHost: a\r\n" + id + "\r\n");
  check(400, get + "Bad Header\r\n\r\n");
  check(413, cancel + "Content-Length: 9999999\r\n\r\n");
  check(413, cancel + "Transfer-Encoding: chunked\r\n\r\nFFFFFF\r\n");
  check(417, get + "Expect: more\r\n\r\n");
  check(431, get + many + "\r\n");
  check(431, get + "X: " + std::string(33 * 1024, 'x') + "\r\n\r\n");
  server->refuse_new();
  check(503, "GET /v1/models HTTP/1.1\r\nHost: a\r\nX-API-Key: " + owner + "\r\n" + id + "\r\n");
}

TEST_F(Guard, ARefusalWithoutABodyKeepsTheConnection) {
  start();
  Connection connection(server->port());
  connection.send({.path = "/v1/models"});
  EXPECT_EQ(connection.answer().status, 401);
  connection.send({.path = "/health"});
  EXPECT_EQ(connection.answer().status, 200);
}

TEST_F(Guard, HeadIsAGetWithoutABody) {
  start();
  const Answer answer = send({.method = "HEAD", .path = "/health"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-length"), "15");
}

TEST_F(Guard, BodiesPastTheByteBudgetAreRefusedBeforeTheyAreRead) {
  start({.body_budget_bytes = 1000});
  const Answer answer = post("/v1/ocr", std::string(1001, ' '));
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.has("retry-after"));
  EXPECT_TRUE(answer.has("retry-after-ms"));
  EXPECT_EQ(post("/v1/ocr", "{}").status, 422);
}

TEST_F(Guard, AnotherContentTypeIsRefusedAndAnEmptyBodyMayHaveAny) {
  start();
  for (const char* type : {"text/plain", "", "application/xml", "application/json; charset=latin1"}) {
    EXPECT_EQ(send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = "{}", .type = type}).status,
              415)
        << type;
  }
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json"}) {
    EXPECT_EQ(send({.method = "POST", .path = "/v1/ocr", .key = owner, .body = "{}", .type = type}).status,
              422)
        << type;
  }
  EXPECT_EQ(post("/v1/ocr", "", "Content-Type: text/plain\r\n").status, 422);
}

TEST_F(Guard, MetricsNeedNoKeyIfTheyAreOpen) {
  start({.metrics_open = true});
  ASSERT_EQ(get("/v1/models").status, 200);
  ASSERT_EQ(get("/v1/models/no-such-model").status, 404);
  const auto text = [&] { return send({.path = "/metrics"}).body; };
  EXPECT_EQ(send({.path = "/metrics"}).status, 200);
  for (const char* counted : {
           R"(millrace_http_requests_total{method="GET",route="/v1/models",status="200"} 1)",
           R"(millrace_http_requests_total{method="GET",route="/v1/models/{model...}",status="404"} 1)",
           R"(millrace_request_duration_seconds_count{method="GET",route="/v1/models"} 1)",
       }) {
    EXPECT_TRUE(support::wait_until([&] { return text().find(counted) != std::string::npos; })) << counted;
  }
}

TEST_F(Guard, MetricsNeedTheirScopeOrAdmin) {
  start();
  EXPECT_EQ(send({.path = "/metrics"}).status, 401);
  EXPECT_EQ(get("/metrics").status, 403);
  for (const schemas::Scope one : {schemas::Scope::kMetrics, schemas::Scope::kAdmin})
    EXPECT_EQ(send({.path = "/metrics", .key = key({one})}).status, 200) << schemas::name(one);
}

TEST_F(Guard, AKeyForMetricsOpensNothingElse) {
  start();
  const std::string watcher = key({schemas::Scope::kMetrics});
  for (const char* path : {"/v1/models", "/v1/jobs", "/v1/machines", "/v1/admin/overview"})
    EXPECT_EQ(send({.path = path, .key = watcher}).status, 403) << path;
}

TEST_F(Guard, UnknownPathsUnderMachinesAnswerProblemJson) {
  start();
  const Answer answer = get("/v1/machines/dm-1/logs");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
}

TEST_F(Guard, TheFrontEndsOwnErrorsAreOfTheSameShape) {
  start();
  Connection connection(server->port());
  connection.send_text("GET /health HTTP/1.1\r\nBad Header\r\n\r\n");
  const Answer answer = connection.answer();
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.json()["error"]["code"], "bad_request");
}

TEST_F(Guard, WhileDrainingKeyedRequestsAreRefused) {
  start();
  service->drain();
  EXPECT_EQ(get("/v1/models").status, 503);
  EXPECT_EQ(send({.path = "/health"}).status, 200);
}

TEST_F(Guard, WhileDrainingTheProcessIsAliveAndNotReady) {
  start();
  service->drain();
  server->refuse_new();
  EXPECT_EQ(get("/v1/models").status, 503);
  const Answer live = send({.path = "/livez"});
  EXPECT_EQ(live.status, 200);
  EXPECT_EQ(live.json()["status"], "ok");
  const Answer health = send({.path = "/health"});
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.json()["status"], "draining");
  const Answer ready = send({.path = "/readyz"});
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.json()["status"], "draining");
  EXPECT_TRUE(ready.has("retry-after"));
}

TEST_F(Guard, ReadinessNamesStoreDispatchAndDisk) {
  start();
  EXPECT_EQ(send({.path = "/readyz"}).json()["status"], "ok");
  dispatch = {.ok = false, .detail = "broker 127.0.0.1:9 does not answer"};
  const Answer degraded = send({.path = "/readyz"});
  EXPECT_EQ(degraded.status, 200);
  EXPECT_EQ(degraded.json()["status"], "degraded");
  EXPECT_EQ(degraded.json()["dispatch"]["detail"], dispatch.detail);
  EXPECT_TRUE(degraded.json().contains("store") && degraded.json().contains("disk"));
}

TEST_F(Guard, ModelsAreListedAndFoundByNameWithOrWithoutTheSlashEncoded) {
  start();
  const Answer list = get("/v1/models");
  EXPECT_EQ(list.json()["object"], "list");
  EXPECT_EQ(list.json()["data"][0]["id"], "millrace/ocr");
  EXPECT_EQ(get("/v1/models/millrace%2Focr").json()["object"], "model");
  EXPECT_EQ(get("/v1/models/millrace/ocr").json()["type"], "base");
  const Answer unknown = get("/v1/models/millrace/orc");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json()["error"]["code"], "model_not_found");
  EXPECT_NE(unknown.body.find("millrace/ocr"), std::string::npos);
}

TEST_F(Guard, TheFirstStartMakesOneAdminKey) {
  ASSERT_TRUE(ensure_admin_key(*store, pepper_text).has_value());
  ASSERT_TRUE(ensure_admin_key(*store, pepper_text).has_value());
  EXPECT_EQ(list_keys(*store)->size(), 1u);
  EXPECT_EQ(list_keys(*store)->front().name, "admin");
}

}  // namespace
}  // namespace millrace::api::test
