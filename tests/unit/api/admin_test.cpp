#include <future>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using base::Code;
using nlohmann::json;
using schemas::Scope;

class Admin : public Served {
 protected:
  void begin() {
    start();
    admin_ = key(schemas::ScopeSet::all());
  }
  Answer send_request(const std::string& method, const std::string& path, const std::string& body = {}) {
    return send({.method = method, .path = "/v1/admin" + path, .key = admin_, .body = body});
  }
  json read(const std::string& path) {
    const Answer answer = send_request("GET", path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json();
  }
  std::string make(const std::string& by) {
    return send({.method = "POST",
                 .path = "/v1/ocr",
                 .key = by,
                 .headers = kAsync,
                 .body = ocr_body(pdf_of(9))})
        .json()["id"];
  }
  std::string status(const std::string& job) { return read("/jobs?ids=" + job)["items"][0]["status"]; }
  void report(storage::WorkerReport report) {
    std::promise<bool> reported;
    storage::JobClaims(*store).heartbeat(std::move(report), {}, std::chrono::seconds(20),
                                         [&](const auto& reply) { reported.set_value(reply.has_value()); });
    ASSERT_TRUE(reported.get_future().get());
  }
  const json* kind(const json& list, const std::string& name) {
    for (const json& each : list) {
      if (each["kind"] == name) return &each;
    }
    return nullptr;
  }

  std::string admin_;
};

TEST_F(Admin, IsForKeysWithItsScopeAlone) {
  begin();
  for (const char* path : {"overview", "queues", "workers", "providers", "jobs", "keys"})
    EXPECT_EQ(get("/v1/admin/" + std::string(path)).status, 403) << path;
}

TEST_F(Admin, TheOverviewCountsWhatWaitsAndWhatEnded) {
  begin();
  make(owner);
  finish(claim()->lease, kReply);
  make(owner);
  fail(claim()->lease, Code::kDocumentDamaged, "broken");
  make(owner);
  const json seen = read("/overview");
  const json* ocr = kind(seen["kinds"], "ocr");
  ASSERT_NE(ocr, nullptr);
  EXPECT_EQ((*ocr)["queued"], 1);
  EXPECT_EQ((*ocr)["hour"]["succeeded"], 1);
  EXPECT_EQ((*ocr)["hour"]["failed"], 1);
  EXPECT_EQ((*ocr)["succeeded_by_minute"].size(), 60u);
  EXPECT_TRUE((*ocr)["run_seconds"].contains("p95"));
  EXPECT_TRUE((*ocr).contains("oldest_queued_seconds"));
  EXPECT_EQ(kind(seen["kinds"], "machine"), nullptr);
  EXPECT_TRUE(seen["health"]["store"]["ok"]);
  EXPECT_GT(seen["store"]["disk_free_bytes"], 0);
}

TEST_F(Admin, QueuesAndProvidersAreListed) {
  begin();
  make(owner);
  EXPECT_EQ((*kind(read("/queues")["items"], "ocr"))["queued"], 1);
  const json providers = read("/providers")["items"];
  ASSERT_FALSE(providers.empty());
  EXPECT_EQ(providers[0]["circuit"], "closed");
  EXPECT_TRUE(read("/workers")["items"].is_array());
}

TEST_F(Admin, JobsOfEveryTenantAreListedWithTheirTenant) {
  begin();
  const std::string ours = make(owner);
  const std::string theirs = make(key(schemas::ScopeSet::of_a_new_key(), "other"));
  const json items = read("/jobs")["items"];
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0]["id"], theirs);
  EXPECT_EQ(items[0]["tenant"], "other");
  EXPECT_EQ(items[1]["id"], ours);
  const json first = read("/jobs?limit=1");
  EXPECT_EQ(read("/jobs?limit=1&cursor=" + first["next_cursor"].get<std::string>())["items"][0]["id"], ours);
}

TEST_F(Admin, ManyJobsAreCancelledByTheirIdsOrByAFilter) {
  begin();
  const std::string first = make(owner), second = make(owner);
  const std::string other = make(key(schemas::ScopeSet::of_a_new_key(), "other"));
  const Answer by_id = send_request("POST", "/jobs/cancel", R"({"ids":[")" + first + R"("]})");
  EXPECT_EQ(by_id.json(), json::parse(R"({"matched":1,"changed":1})")) << by_id.body;
  EXPECT_EQ(status(first), "cancelled");
  const Answer by_filter = send_request("POST", "/jobs/cancel", R"({"filter":{"kind":"ocr"}})");
  EXPECT_EQ(by_filter.json(), json::parse(R"({"matched":3,"changed":2,"unchanged":{"already_ended":1}})"))
      << by_filter.body;
  EXPECT_EQ(status(second), "cancelled");
  EXPECT_EQ(status(other), "cancelled");
}

TEST_F(Admin, ARetryMakesNewJobsOfWhatFailedInTheirTenants) {
  begin();
  make(key(schemas::ScopeSet::of_a_new_key(), "other"));
  fail(claim()->lease, Code::kDocumentDamaged, "broken");
  make(owner);
  const Answer done = send_request("POST", "/jobs/retry", R"({"filter":{}})");
  EXPECT_EQ(done.json(),
            json::parse(R"({"matched":2,"changed":1,"already_retried":0,"unchanged":{"not_ended":1}})"))
      << done.body;
  const json fresh = read("/jobs")["items"][0];
  EXPECT_EQ(fresh["tenant"], "other");
  EXPECT_TRUE(fresh.contains("retry_of"));
}

TEST_F(Admin, AFailedJobIsRetriedOnceHoweverOftenTheBulkCallIsSent) {
  begin();
  const std::string first = make(owner), second = make(owner);
  for (int i = 0; i < 2; ++i) fail(claim()->lease, Code::kDocumentDamaged, "broken");
  const auto retry_all = [&] {
    return send_request("POST", "/jobs/retry", R"({"filter":{"kind":"ocr"}})").json();
  };
  EXPECT_EQ(read("/dead")["items"][0]["jobs"], 2);
  EXPECT_EQ(retry_all(), json::parse(R"({"matched":2,"changed":2,"already_retried":0})"));
  EXPECT_EQ(read("/dead")["items"], json::array()) << "what was retried is no dead letter";
  EXPECT_EQ(retry_all(),
            json::parse(R"({"matched":2,"changed":0,"already_retried":2,"unchanged":{"not_ended":2}})"))
      << "the two retries match, but wait";
  const json shown = get("/v1/jobs/" + first).json();
  EXPECT_EQ(get("/v1/jobs/" + shown["retried_by"].get<std::string>()).json()["retry_of"], first);
  const Answer by_ids = send_request("POST", "/jobs/retry", R"({"ids":[")" + second + R"("]})");
  EXPECT_EQ(by_ids.json(), json::parse(R"({"matched":0,"changed":0,"already_retried":1})")) << by_ids.body;

  fail(claim()->lease, Code::kDocumentDamaged, "broken");
  finish(claim()->lease, kReply);
  EXPECT_EQ(retry_all(),
            json::parse(R"({"matched":2,"changed":1,"already_retried":2,"unchanged":{"succeeded":1}})"))
      << "of the two retries, one failed";
}

TEST_F(Admin, WhatFailedIsOfTheTypeThatAnErrorBodyGivesItsCode) {
  begin();
  for (const Code code : {Code::kDocumentEncrypted, Code::kWorkerLost}) {
    make(owner);
    fail(claim()->lease, code, "it failed");
  }
  std::map<std::string, std::string> types;
  const json dead = read("/dead");
  for (const json& group : dead["items"]) types[group["code"]] = group["type"];
  EXPECT_EQ(types, (std::map<std::string, std::string>{{"document_encrypted", "invalid_request_error"},
                                                       {"worker_lost", "server_error"}}));
}

TEST_F(Admin, ACommandThatExitsWithAnErrorIsNoFailureOfTheGateway) {
  begin();
  make(owner);
  fail(claim()->lease, Code::kCommandFailed, "exit code 3");
  make(owner);
  fail(claim()->lease, Code::kWorkerLost, "lost");
  const json dead = read("/dead")["items"];
  ASSERT_EQ(dead.size(), 1u) << dead;
  EXPECT_EQ(dead[0]["code"], "worker_lost");
  const json kinds = read("/overview")["kinds"];
  const auto ocr =
      std::ranges::find(kinds, "ocr", [](const json& kind) { return kind["kind"].get<std::string>(); });
  EXPECT_EQ((*ocr)["hour"]["failed"], 1);
  EXPECT_EQ((*ocr)["hour"]["commands_failed"], 1);
  EXPECT_EQ((*ocr)["failed_by_minute"].get<std::vector<int>>().back(), 1);
}

TEST_F(Admin, ABulkRequestSelectsJobsByIdsOrByFilter) {
  begin();
  for (const char* body :
       {"{}", R"({"ids":[],"filter":{}})", R"({"ids":["x"]})", R"({"filter":{"kind":"none"}})",
        R"({"filter":{"colour":"red"}})", R"({"ids":"x"})", R"({"filter":{"limit":1}})",
        R"({"filter":{"ids":"ocr-01932b6c-8a00-7000-8000-000000000001"}})"})
    EXPECT_EQ(send_request("POST", "/jobs/cancel", body).status, 422) << body;
}

TEST_F(Admin, AKeyIsMadeShownOnceAndRevoked) {
  begin();
  const Answer made =
      send_request("POST", "/keys", R"({"name":"ci","tenant":"acme","scopes":["jobs:read"]})");
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.header("cache-control"), "no-store");
  const std::string text = made.json()["key"], id = made.json()["id"];
  EXPECT_EQ(send({.path = "/v1/jobs", .key = text}).status, 200);
  EXPECT_EQ(send({.path = "/v1/models", .key = text}).status, 403);
  EXPECT_EQ(send_request("GET", "/keys").body.find(text), std::string::npos);
  const Answer revoked = send_request("DELETE", "/keys/" + id);
  EXPECT_TRUE(revoked.json().contains("revoked_at")) << revoked.body;
  EXPECT_TRUE(support::wait_until([&] { return send({.path = "/v1/jobs", .key = text}).status == 401; }));
  EXPECT_EQ(send_request("DELETE", "/keys/nobody00").status, 404);
}

TEST_F(Admin, ANewKeyEndsWhenTheOldOneWasTo) {
  begin();
  const json old = send_request("POST", "/keys",
                                R"({"name":"ci","scopes":["jobs:read"],"expires_at":"2999-01-01T00:00:00Z"})")
                       .json();
  const json fresh = send_request("POST", "/keys/" + old["id"].get<std::string>() + "/rotate").json();
  const json keys = read("/keys");
  for (const json& key : keys["items"]) {
    if (key["id"] == fresh["id"]) {
      EXPECT_EQ(key["expires_at"], old["expires_at"]);
    }
  }
}

TEST_F(Admin, ARotatedKeyGoesOnForAWhileBesideTheNewOne) {
  begin();
  const json old = send_request("POST", "/keys", R"({"name":"ci","scopes":["jobs:read"]})").json();
  const std::string path = "/keys/" + old["id"].get<std::string>() + "/rotate";
  const json fresh = send_request("POST", path, R"({"overlap_seconds":600})").json();
  EXPECT_NE(fresh["id"], old["id"]);
  EXPECT_EQ(fresh["name"], "ci");
  EXPECT_EQ(fresh["scopes"], old["scopes"]);
  for (const json& key : {old, fresh}) EXPECT_EQ(send({.path = "/v1/jobs", .key = key["key"]}).status, 200);
  const json keys = read("/keys");
  for (const json& key : keys["items"]) EXPECT_EQ(key.contains("expires_at"), key["id"] == old["id"]) << key;
  const json at_once =
      send_request("POST", "/keys/" + fresh["id"].get<std::string>() + "/rotate", R"({"overlap_seconds":0})")
          .json();
  EXPECT_TRUE(
      support::wait_until([&] { return send({.path = "/v1/jobs", .key = fresh["key"]}).status == 401; }));
  EXPECT_EQ(send({.path = "/v1/jobs", .key = at_once["key"]}).status, 200);
  EXPECT_EQ(send_request("POST", "/keys/nobody00/rotate").status, 404);
}

TEST_F(Admin, AKeyThatIsAskedForWronglyIsRefused) {
  begin();
  for (const char* body : {"{}", R"({"name":""})", R"({"name":"a b"})",
                           R"({"name":"ci","scopes":["everything"]})", R"({"name":"ci","colour":"red"})"})
    EXPECT_EQ(send_request("POST", "/keys", body).status, 422) << body;
}

TEST_F(Admin, APausedQueueAcceptsJobsStartsNoneAndIsMarkedAsPaused) {
  begin();
  const json paused = send_request("POST", "/queues/ocr/pause").json();
  EXPECT_EQ(paused["kind"], "ocr");
  EXPECT_EQ(paused["paused"], true);
  EXPECT_TRUE(paused.contains("paused_at"));
  const std::string job = make(owner);
  EXPECT_FALSE(claim());
  EXPECT_EQ(status(job), "queued");
  EXPECT_EQ((*kind(read("/queues")["items"], "ocr"))["paused"], true);
  EXPECT_EQ((*kind(read("/queues")["items"], "chat"))["paused"], false);
  EXPECT_EQ(send({.path = "/readyz"}).status, 200) << "a paused queue does not make the gateway unready";
  const json resumed = send_request("POST", "/queues/ocr/resume").json();
  EXPECT_EQ(resumed["paused"], false);
  EXPECT_FALSE(resumed.contains("paused_at"));
  EXPECT_TRUE(claim());
}

TEST_F(Admin, AQueueThatIsNoneAndAWorkerThatIsNoneAreNotFound) {
  begin();
  for (const char* name : {"pages", "machine"}) {
    EXPECT_EQ(send_request("POST", "/queues/" + std::string(name) + "/pause").status, 404) << name;
    EXPECT_EQ(send_request("POST", "/queues/" + std::string(name) + "/resume").status, 404) << name;
  }
  EXPECT_EQ(send_request("POST", "/workers/nobody/drain").status, 404);
}

TEST_F(Admin, AWorkerThatDrainsIsShownAsDraining) {
  begin();
  report({"box-1", base::Uuid::make(clock.wall()), "box", "1", {}});
  EXPECT_EQ(read("/workers")["items"][0]["draining"], false);
  EXPECT_EQ(send_request("POST", "/workers/box-1/drain").json()["draining"], true);
  EXPECT_EQ(read("/workers")["items"][0]["draining"], true);
}

TEST_F(Admin, AWorkerIsListedWithTheLeasesThatItHoldsAndWhenTheyEnd) {
  begin();
  const std::string job = make(owner);
  const auto claimed = claim();
  ASSERT_TRUE(claimed);
  report({"test", base::Uuid::make(clock.wall()), "box", "1", {}});
  const json seen = read("/workers")["items"][0];
  EXPECT_EQ(seen["leases_held"], 1);
  const json lease = seen["leases"][0];
  EXPECT_EQ(lease["job"], job);
  EXPECT_EQ(lease["kind"], "ocr");
  EXPECT_EQ(lease["tenant"], "default");
  EXPECT_EQ(lease["attempt"], 1);
  EXPECT_EQ(lease["over"], false);
  EXPECT_GT(lease["expires_in_seconds"].get<double>(), 10);
  EXPECT_LE(lease["expires_in_seconds"].get<double>(), 20);
  EXPECT_GT(lease["expires_at"], lease["since"]);
  finish(claimed->lease, kReply);
  EXPECT_EQ(read("/workers")["items"][0]["leases"], json::array());
}

TEST_F(Admin, EachPartOfTheHealthSaysWhatItIsAndWhatToDoOnceItIsNotWell) {
  begin();
  dispatch = {false, "Kafka box:9092: refused"};
  const json ready = send({.path = "/readyz"}).json();
  const json seen = read("/overview")["health"];
  for (const char* part : {"store", "dispatch", "disk"}) {
    EXPECT_NE(seen[part]["means"], "");
    EXPECT_EQ(seen[part].contains("what_to_do"), std::string(part) == "dispatch");
  }
  for (const char* part : {"store", "disk"}) EXPECT_EQ(ready[part], json::parse(R"({"status":"ok"})"));
  for (const char* text : {"detail", "means", "what_to_do"})
    EXPECT_EQ(ready["dispatch"][text], seen["dispatch"][text]) << text;
  EXPECT_NE(seen["dispatch"]["what_to_do"].get<std::string>().find("No job is lost"), std::string::npos);
}

// The end of a chunked reply.
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";

class AdminFeed : public Admin {
 protected:
  void open(Connection& stream) {
    stream.send({.path = "/v1/admin/events", .key = admin_, .headers = "Accept: text/event-stream\r\n"});
    ASSERT_TRUE(stream.saw("event: overview\n"));
  }
};

TEST_F(AdminFeed, SendsTheOverviewFirstAndThenTheJobsOfAllTenantsAsTheyChange) {
  begin();
  Connection stream(server->port());
  open(stream);
  EXPECT_NE(stream.seen().find("text/event-stream"), std::string::npos);
  const std::string job = make(key(schemas::ScopeSet::of_a_new_key(), "elsewhere"));
  ASSERT_TRUE(stream.saw("event: job\n"));
  ASSERT_TRUE(stream.saw(R"("tenant":"elsewhere","status":"queued")"));
  EXPECT_NE(stream.seen().find(job), std::string::npos);
  finish(claim()->lease, kReply);
  EXPECT_TRUE(stream.saw(R"("status":"succeeded")"));
}

TEST_F(AdminFeed, ReportsTheStatusOfTheListsWhileTheMachineWakes) {
  begin();
  Connection stream(server->port());
  open(stream);
  const std::string id = new_machine();
  const Answer made =
      post("/v1/machines/" + id + "/executions", R"({"command":["true"]})", "Idempotency-Key: a\r\n");
  ASSERT_EQ(made.status, 200) << made.body;
  ASSERT_TRUE(stream.saw(R"("tenant":"default","status":"wake_in_progress","version":1)"));
  EXPECT_EQ(get("/v1/jobs").json()["items"][0]["status"], "wake_in_progress");
  EXPECT_EQ(act(), "wake");
  EXPECT_TRUE(stream.saw(R"("tenant":"default","status":"queued","version":2)"));
}

TEST_F(AdminFeed, SendsTheOverviewAgainAndPingsInBetween) {
  start({.event_ping = std::chrono::milliseconds(20),
         .feed_interval = std::chrono::milliseconds(5),
         .feed_overview = std::chrono::milliseconds(200)});
  admin_ = key(schemas::ScopeSet::all());
  Connection stream(server->port());
  open(stream);
  EXPECT_TRUE(stream.saw("event: ping\n"));
  make(owner);
  EXPECT_TRUE(stream.saw(R"("kind":"ocr","queued":1)"));
}

TEST_F(AdminFeed, IsForAdministratorsAndEndsAtDrain) {
  begin();
  EXPECT_EQ(get("/v1/admin/events").status, 403);
  Connection stream(server->port());
  open(stream);
  service->drain();
  EXPECT_TRUE(stream.saw(kLastChunk));
}

TEST_F(AdminFeed, EndsWhenItsKeyIsRevoked) {
  start({.feed_interval = std::chrono::milliseconds(5), .feed_overview = std::chrono::milliseconds(20)});
  admin_ = key(schemas::ScopeSet::all());
  Connection stream(server->port());
  open(stream);
  ASSERT_TRUE(revoke_key(*store, std::string(*schemas::key_id(admin_))));
  EXPECT_TRUE(stream.ended());
  EXPECT_FALSE(stream.saw(kLastChunk)) << "a stream that is cut is not complete";
}

TEST_F(AdminFeed, RefusesOneTooManyAndNamesTheBound) {
  begin();
  std::vector<jobs::Feed::FollowerPtr> others;
  for (std::size_t i = 0; i < jobs::Feed::kFollowersMax; ++i) others.push_back(feed.follow());
  const Answer refused = send_request("GET", "/events");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find(std::to_string(jobs::Feed::kFollowersMax)), std::string::npos);
}

TEST_F(AdminFeed, AClientThatFellBehindGetsAnErrorAndIsDropped) {
  start({.feed_interval = std::chrono::seconds(1)});
  admin_ = key(schemas::ScopeSet::all());
  Connection slow(server->port());
  open(slow);
  // More changes in one interval than the feed buffers.
  for (std::size_t i = 0; i < jobs::Feed::kBehindMax * 20; ++i) {
    feed.on_change(
        {{schemas::Kind::kOcr, base::Uuid::make(clock.wall())}, "t", 1, schemas::JobStatus::kQueued});
  }
  EXPECT_TRUE(slow.saw("event: dropped\n"));
}

class Dashboard : public Served {};

TEST_F(Dashboard, IsThePageOfBrowsersAlone) {
  start();
  const Answer page = send({.path = "/", .headers = "Accept: text/html,*/*;q=0.8\r\n"});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_NE(page.header("content-security-policy").find("default-src 'self'"), std::string::npos);
  EXPECT_EQ(send({.path = "/"}).json()["name"], "millrace");
  EXPECT_EQ(send({.path = "/"}).json()["docs"], "/docs");
}

TEST_F(Dashboard, AFileIsSentAgainOnlyWhenItChanged) {
  start();
  const Answer file = send({.path = "/dashboard/style.css"});
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.header("content-type"), "text/css; charset=utf-8");
  const Answer again =
      send({.path = "/dashboard/style.css", .headers = "If-None-Match: " + file.header("etag") + "\r\n"});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(send({.path = "/dashboard/none.css"}).status, 404);
  EXPECT_EQ(send({.path = "/dashboard/..%2Findex.html"}).status, 404);
}

}  // namespace
}  // namespace millrace::api::test
