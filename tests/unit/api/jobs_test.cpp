#include <future>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using base::Code;
using nlohmann::json;

class Jobs : public Served {
 protected:
  std::string make() {
    return post("/v1/ocr", ocr_body(pdf_of(9)), "Prefer: respond-async\r\n").json()["id"];
  }
  // Records the heartbeat of a worker that serves this kind.
  void serve(schemas::Kind kind) {
    storage::WorkerReport report{
        "w-" + std::string(schemas::name(kind)), base::Uuid::make(clock.wall()), "host", "1", {{kind, 1, 0}}};
    std::promise<bool> heard;
    storage::JobClaims(*store).heartbeat(report, {}, std::chrono::seconds(20),
                                         [&](const auto& reply) { heard.set_value(reply.has_value()); });
    ASSERT_TRUE(heard.get_future().get());
  }
  storage::Lease make_and_claim() {
    make();
    return claim()->lease;
  }
};

TEST_F(Jobs, AreListedNewestFirstInPages) {
  start();
  std::vector<std::string> made;
  for (int i = 0; i < 5; ++i) made.insert(made.begin(), make());
  std::vector<std::string> seen;
  std::string cursor;
  int pages = 0;
  do {
    const json page = get("/v1/jobs?limit=2&cursor=" + cursor).json();
    ASSERT_FALSE(page["items"].empty());
    for (const json& item : page["items"]) seen.push_back(item["id"]);
    cursor = page.value("next_cursor", "");
    ++pages;
  } while (!cursor.empty());
  EXPECT_EQ(seen, made);
  EXPECT_EQ(pages, 3);
}

TEST_F(Jobs, AQueuedJobSaysWhileNoWorkerServesItsKind) {
  start();
  const std::string id = make();
  EXPECT_EQ(get("/v1/jobs/" + id).json()["unserved"], true);
  EXPECT_EQ(get("/v1/jobs").json()["items"][0]["unserved"], true);
  serve(schemas::Kind::kExec);
  EXPECT_EQ(get("/v1/jobs/" + id).json()["unserved"], true) << "a worker of another kind does not serve it";
  serve(schemas::Kind::kOcr);
  EXPECT_FALSE(get("/v1/jobs/" + id).json().contains("unserved"));
  EXPECT_FALSE(get("/v1/jobs?ids=" + id).json()["items"][0].contains("unserved"));
}

TEST_F(Jobs, AJobThatIsNotQueuedIsNeverUnserved) {
  start();
  EXPECT_FALSE(get("/v1/jobs/" + make_and_claim().job.str()).json().contains("unserved"));
}

TEST_F(Jobs, ANameIsInEveryAnswerThatHasTheJob) {
  start();
  const std::string body = ocr_body(pdf_of(9), R"(,"document_name":"march \"1\" ü\\\u001b[2J.pdf")");
  const json made = post("/v1/ocr", body, kAsync).json();
  const std::string shown = "march \"1\" ü\\\x1b[2J.pdf";
  EXPECT_EQ(made["name"], shown);
  const std::string path = "/v1/jobs/" + made["id"].get<std::string>();
  EXPECT_EQ(get(path).json()["name"], shown);
  EXPECT_EQ(get("/v1/jobs").json()["items"][0]["name"], shown);
  EXPECT_EQ(get("/v1/jobs?ids=" + made["id"].get<std::string>()).json()["items"][0]["name"], shown);
  EXPECT_EQ(post(path + "/cancel", "").json()["name"], shown);
  EXPECT_EQ(post(path + "/retry", "").json()["name"], shown);
  EXPECT_FALSE(get("/v1/jobs/" + make()).json().contains("name"));
}

TEST_F(Jobs, WithOneKeyTheSecondAnswerHasTheName) {
  start();
  const std::string body = ocr_body(pdf_of(9), R"(,"document_name":"a.pdf")");
  const std::string headers = std::string(kAsync) + "Idempotency-Key: one\r\n";
  EXPECT_EQ(post("/v1/ocr", body, headers).json()["name"], "a.pdf");
  EXPECT_EQ(post("/v1/ocr", body, headers).json()["name"], "a.pdf");
}

TEST_F(Jobs, ThatAreRareAreFoundBehindManyOthersAndNoPageIsEmptyWithACursor) {
  start({.list_rows_max = 3});
  std::vector<std::string> done;
  for (int i = 0; i < 2; ++i) {
    done.insert(done.begin(), make());
    finish(claim()->lease, kReply);
    for (int other = 0; other < 10; ++other) fail(make_and_claim(), Code::kJobExpired, "no");
  }
  const json first = get("/v1/jobs?status=succeeded&limit=5").json();
  ASSERT_EQ(first["items"].size(), 1u);
  EXPECT_EQ(first["items"][0]["id"], done[0]);
  const json second =
      get("/v1/jobs?status=succeeded&limit=5&cursor=" + first["next_cursor"].get<std::string>()).json();
  ASSERT_EQ(second["items"].size(), 1u);
  EXPECT_EQ(second["items"][0]["id"], done[1]);
  const json none = get("/v1/jobs?status=cancelled").json();
  EXPECT_TRUE(none["items"].empty());
  EXPECT_FALSE(none.contains("next_cursor"));
}

TEST_F(Jobs, AreFiltered) {
  start();
  const std::string done = make();
  finish(claim()->lease, kReply);
  const std::string queued = make();
  const auto ids = [&](const std::string& query) {
    std::vector<std::string> out;
    const json page = get("/v1/jobs?" + query).json();
    for (const json& item : page["items"]) out.push_back(item["id"]);
    return out;
  };
  EXPECT_EQ(ids("status=queued"), std::vector<std::string>{queued});
  EXPECT_EQ(ids("status=succeeded&kind=ocr"), std::vector<std::string>{done});
  EXPECT_EQ(ids("model=none").size(), 0u);
  EXPECT_EQ(ids("model=vendor-ocr-latest").size(), 2u);
  EXPECT_EQ(ids("created_before=2000-01-01T00:00:00Z").size(), 0u);
  EXPECT_EQ(ids("created_after=2000-01-01T00:00:00Z").size(), 2u);
  EXPECT_EQ(ids("q=" + done.substr(30)), std::vector<std::string>{done});
  EXPECT_EQ(ids("ids=" + done), std::vector<std::string>{done});
  EXPECT_EQ(ids("ids=" + done + "," + queued).size(), 2u);
}

TEST_F(Jobs, AnIdThatIsSentTwiceIsListedAndCountedOnce) {
  start();
  const std::string id = make();
  std::string many = id;
  for (int i = 0; i < 120; ++i) many += "," + id;
  const json page = get("/v1/jobs?ids=" + many).json();
  ASSERT_EQ(page["items"].size(), 1u) << page;
  EXPECT_EQ(page["items"][0]["id"], id);
}

TEST_F(Jobs, AnEmptyListOfIdsNamesNoJob) {
  start();
  make();
  for (const char* query : {"ids=", "ids", "limit=5&ids="}) {
    const Answer answer = get(std::string("/v1/jobs?") + query);
    EXPECT_EQ(answer.status, 200) << query;
    EXPECT_EQ(answer.json(), json::parse(R"({"items":[]})")) << query;
  }
}

TEST_F(Jobs, BadFiltersAreNamed) {
  start();
  const auto param = [&](const std::string& query) {
    const Answer answer = get("/v1/jobs?" + query);
    EXPECT_EQ(answer.status, 422) << query;
    return answer.json()["detail"][0]["loc"][1].get<std::string>();
  };
  EXPECT_EQ(param("limit=0"), "limit");
  EXPECT_EQ(param("limit=201"), "limit");
  EXPECT_EQ(param("limit=x"), "limit");
  EXPECT_EQ(param("cursor=zzz"), "cursor");
  EXPECT_EQ(param("kind=nothing"), "kind");
  EXPECT_EQ(param("status=waiting"), "status");
  EXPECT_EQ(param("created_after=yesterday"), "created_after");
  EXPECT_EQ(param("ids=x"), "ids");
  std::string many;
  for (int i = 0; i < 101; ++i)
    many += "ocr-01932b6c-8a00-7000-8000-000000000" + std::to_string(100 + i) + ",";
  EXPECT_EQ(param("ids=" + many), "ids");
  EXPECT_EQ(param("ids=ocr-01932b6c-8a00-7000-8000-000000000001&status=queued"), "ids");
}

TEST_F(Jobs, OfAnotherTenantAreNotThere) {
  start();
  const std::string id = make();
  const std::string unknown_client = key(schemas::ScopeSet::all(), "other");
  const json unknown = get("/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001").json();
  for (const std::string& path :
       {"/v1/jobs/" + id, "/v1/jobs/" + id + "/result", "/v1/jobs/" + id + "/events"}) {
    const Answer answer = send({.path = path, .key = unknown_client});
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.json()["error"]["code"], unknown["error"]["code"]);
  }
  for (const char* act : {"/cancel", "/retry"}) {
    EXPECT_EQ(send({.method = "POST", .path = "/v1/jobs/" + id + act, .key = unknown_client}).status, 404)
        << act;
  }
  EXPECT_EQ(send({.path = "/v1/jobs", .key = unknown_client}).json()["items"].size(), 0u);
  EXPECT_EQ(send({.path = "/v1/jobs?ids=" + id, .key = unknown_client}).json()["items"].size(), 0u);
}

TEST_F(Jobs, APendingResultIs202WithoutAnything) {
  start();
  const std::string id = make();
  const Answer answer = get("/v1/jobs/" + id + "/result");
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.body, "");
  EXPECT_FALSE(answer.has("content-type"));
  EXPECT_EQ(answer.header("x-millrace-job"), id);
}

TEST_F(Jobs, AResultIsTheKindsOwnReply) {
  start();
  const std::string id = make();
  finish(claim()->lease, R"({"text":"x"})");
  EXPECT_EQ(get("/v1/jobs/" + id + "/result").body, R"({"text":"x"})");
}

TEST_F(Jobs, AFailureKeepsItsStatusAndIsNotWorthARetry) {
  start();
  const std::string id = make();
  fail(claim()->lease, Code::kPoisonJob, "the engine died three times");
  const Answer answer = get("/v1/jobs/" + id + "/result");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.header("x-should-retry"), "false");
  EXPECT_EQ(answer.json()["error"]["code"], "poison_job");
  const json job = get("/v1/jobs/" + id).json();
  EXPECT_EQ(job["status"], "failed");
  EXPECT_EQ(job["error"], json::parse(R"({"code":"poison_job","message":"the engine died three times"})"));
}

TEST_F(Jobs, APartialResultIsWhatThereIsSoFar) {
  start();
  const std::string id = make();
  EXPECT_EQ(get("/v1/jobs/" + id + "/result?partial=true").json()["pages"].size(), 0u);
  const auto job = claim();
  part(job->lease, 1, R"({"index":1,"markdown":"b","images":[],"dimensions":null})");
  const Answer answer = get("/v1/jobs/" + id + "/result?partial=true");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json()["pages"][0]["markdown"], "b");
  EXPECT_EQ(answer.json()["usage_info"]["pages_processed"], 1);
  EXPECT_EQ(get("/v1/jobs/" + id + "/result?partial=maybe").status, 422);
}

TEST_F(Jobs, ACancelledJobSaysSo) {
  start();
  const std::string id = make();
  const Answer cancelled = post("/v1/jobs/" + id + "/cancel", "");
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(cancelled.json()["status"], "cancelled");
  EXPECT_EQ(post("/v1/jobs/" + id + "/cancel", "{}").json()["status"], "cancelled");
  const Answer result = get("/v1/jobs/" + id + "/result");
  EXPECT_EQ(result.status, 409);
  EXPECT_EQ(result.json()["error"]["code"], "job_cancelled");
}

TEST_F(Jobs, ARetryIsANewJobAndOnlyForWhatDidNotSucceed) {
  start();
  const std::string id = make();
  EXPECT_EQ(post("/v1/jobs/" + id + "/retry", "").status, 409);
  fail(claim()->lease, Code::kDocumentDamaged, "broken");
  const Answer again = post("/v1/jobs/" + id + "/retry", "");
  ASSERT_EQ(again.status, 202) << again.body;
  EXPECT_EQ(again.json()["retry_of"], id);
  EXPECT_NE(again.json()["id"], id);
  EXPECT_EQ(again.header("location"), "/v1/jobs/" + again.json()["id"].get<std::string>());
  EXPECT_EQ(get("/v1/jobs/" + id).json()["status"], "failed");
  finish(claim()->lease, kReply);
  EXPECT_EQ(post("/v1/jobs/" + again.json()["id"].get<std::string>() + "/retry", "").status, 409);
}

TEST_F(Jobs, PreferWaitAnswersWhenTheJobIsOver) {
  start();
  const std::string id = make();
  Connection client(server->port());
  client.send({.path = "/v1/jobs/" + id, .key = owner, .headers = "Prefer: wait=60\r\n"});
  ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 1; }));
  finish(claim()->lease, kReply);
  EXPECT_EQ(client.answer().json()["status"], "succeeded");
  EXPECT_EQ(get("/v1/jobs/" + id, "Prefer: wait=60\r\n").json()["status"], "succeeded");
}

TEST_F(Jobs, PreferWaitEndsAtItsBoundWithTheJobAsItIs) {
  start({.prefer_wait_max = std::chrono::milliseconds(1)});
  const std::string id = make();
  EXPECT_EQ(get("/v1/jobs/" + id, "Prefer: wait=60\r\n").json()["status"], "queued");
  EXPECT_EQ(get("/v1/jobs/ocr-01932b6c-8a00-7000-8000-000000000001", "Prefer: wait=60\r\n").status, 404);
}

TEST_F(Jobs, EventsComeAsPages) {
  start();
  const std::string id = make();
  finish(claim()->lease, kReply);
  const json all = get("/v1/jobs/" + id + "/events").json();
  ASSERT_EQ(all["items"].size(), 3u);
  EXPECT_EQ(all["items"][0]["type"], "queued");
  EXPECT_EQ(all["items"][2]["type"], "succeeded");
  EXPECT_EQ(all["items"][2]["version"], 3);
  const json first = get("/v1/jobs/" + id + "/events?limit=2").json();
  EXPECT_EQ(first["items"].size(), 2u);
  const json rest =
      get("/v1/jobs/" + id + "/events?cursor=" + first["next_cursor"].get<std::string>()).json();
  EXPECT_EQ(rest["items"].size(), 1u);
  EXPECT_FALSE(rest.contains("next_cursor"));
  EXPECT_EQ(get("/v1/jobs/" + id + "/events?after=2").json()["items"].size(), 1u);
  EXPECT_EQ(get("/v1/jobs/" + id + "/events?cursor=x").status, 422);
}

TEST_F(Jobs, EventsComeAsAStreamThatEndsWithTheJob) {
  start();
  const std::string id = make();
  Connection client(server->port());
  client.send(
      {.path = "/v1/jobs/" + id + "/events", .key = owner, .headers = "Accept: text/event-stream\r\n"});
  ASSERT_TRUE(client.saw("event: queued\n"));
  const auto job = claim();
  ASSERT_TRUE(client.saw("event: running\n"));
  finish(job->lease, kReply);
  const Answer answer = client.answer();
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.body.find("id: 1\nevent: queued\ndata: {\"version\":1,"), 0u) << answer.body;
  EXPECT_NE(answer.body.find("id: 3\nevent: succeeded\n"), std::string::npos);
}

TEST_F(Jobs, AStreamResumesAfterTheLastEventId) {
  start();
  const std::string id = make();
  finish(claim()->lease, kReply);
  const std::string accept = "Accept: text/event-stream\r\n";
  const Answer rest = get("/v1/jobs/" + id + "/events", accept + "Last-Event-ID: 2\r\n");
  EXPECT_EQ(rest.body.find("id: 3\n"), 0u);
  EXPECT_EQ(get("/v1/jobs/" + id + "/events", accept + "Last-Event-ID: 3\r\n").status, 204);
  EXPECT_EQ(get("/v1/jobs/" + id + "/events", accept + "Last-Event-ID: 99\r\n").status, 204);
}

TEST_F(Jobs, HeadOfAStreamEndsAtOnce) {
  start();
  const std::string id = make();
  Connection client(server->port());
  client.send({.method = "HEAD",
               .path = "/v1/jobs/" + id + "/events",
               .key = owner,
               .headers = "Accept: text/event-stream\r\n"});
  const Answer head = client.answer(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-type"), "text/event-stream");
  client.send({.path = "/health"});
  EXPECT_EQ(client.answer().body, R"({"status":"ok"})");
  EXPECT_EQ(waiters->count(), 0u);
}

TEST_F(Jobs, AStreamPings) {
  start({.event_ping = std::chrono::milliseconds(5)});
  const std::string id = make();
  Connection client(server->port());
  client.send(
      {.path = "/v1/jobs/" + id + "/events", .key = owner, .headers = "Accept: text/event-stream\r\n"});
  EXPECT_TRUE(client.saw("event: ping\ndata: {}\n\n"));
}

TEST_F(Jobs, DrainingEndsStreams) {
  start();
  const std::string id = make();
  Connection client(server->port());
  client.send(
      {.path = "/v1/jobs/" + id + "/events", .key = owner, .headers = "Accept: text/event-stream\r\n"});
  ASSERT_TRUE(client.saw("event: queued\n"));
  service->drain();
  EXPECT_TRUE(client.saw("\r\n0\r\n\r\n"));
}

TEST_F(Jobs, AStreamWhoseClientHasGoneIsForgotten) {
  start();
  const std::string id = make();
  {
    Connection client(server->port());
    client.send(
        {.path = "/v1/jobs/" + id + "/events", .key = owner, .headers = "Accept: text/event-stream\r\n"});
    ASSERT_TRUE(client.saw("event: queued\n"));
  }
  EXPECT_TRUE(support::wait_until([&] { return waiters->count() == 0; }));
}

TEST_F(Jobs, ATenantHasSoManyRequestsRunningAndAnotherTenantHasItsOwn) {
  start({.requests_per_tenant = 2});
  const TestRequest waiting{.path = "/v1/jobs/" + make(), .key = owner, .headers = "Prefer: wait=60\r\n"};
  Connection first(server->port());
  first.send(waiting);
  {
    Connection second(server->port());
    second.send(waiting);
    ASSERT_TRUE(support::wait_until([&] { return waiters->count() == 2; }));
    const Answer refused = get("/v1/models");
    EXPECT_EQ(refused.status, 429);
    EXPECT_TRUE(refused.has("retry-after"));
    EXPECT_NE(refused.body.find("3/4 of http.connections_max"), std::string::npos) << refused.body;
    const std::string other = key(schemas::ScopeSet::of_a_new_key(), "other");
    EXPECT_EQ(send({.path = "/v1/models", .key = other}).status, 200);
    EXPECT_EQ(get("/health").status, 200);
  }
  EXPECT_TRUE(support::wait_until([&] { return get("/v1/models").status == 200; }));
}

TEST_F(Jobs, AKeyHasSoManyStreamsAndAnotherKeyHasItsOwn) {
  start({.streams_per_key = 2});
  const TestRequest events{
      .path = "/v1/jobs/" + make() + "/events", .key = owner, .headers = "Accept: text/event-stream\r\n"};
  Connection first(server->port());
  first.send(events);
  ASSERT_TRUE(first.saw("event: queued\n"));
  {
    Connection second(server->port());
    second.send(events);
    ASSERT_TRUE(second.saw("event: queued\n"));
    const Answer refused = send(events);
    EXPECT_EQ(refused.status, 429);
    EXPECT_TRUE(refused.has("retry-after"));
    EXPECT_NE(refused.body.find("http.streams_per_key"), std::string::npos) << refused.body;
    Connection of_another(server->port());
    TestRequest other = events;
    other.key = key();
    of_another.send(other);
    EXPECT_TRUE(of_another.saw("event: queued\n"));
    EXPECT_EQ(get(events.path).status, 200) << "a page is no stream";
  }
  EXPECT_TRUE(support::wait_until([&] {
    Connection again(server->port());
    again.send(events);
    return again.saw("HTTP/1.1 ") && again.seen().find("HTTP/1.1 200") == 0;
  }));
}

}  // namespace
}  // namespace millrace::api::test
