#include "tests/unit/api/executions.h"

#include "platform/base/crypto.h"
#include "storage/jobs/job_queries.h"
#include "tests/support/wait_until.h"

namespace millrace::api::test {
namespace {

using base::Code;
using nlohmann::json;
using schemas::Kind;

const std::string kUnknownExecution = "exec-01932b6c-8a00-7000-8000-000000000001";

TEST_F(Executions, ANewOneIsQueuedWithWhatItWasMadeOf) {
  begin();
  const Answer made = create(R"({"command":["sh","-c","x"],"cwd":"a","env":{"B":"s3cret"},"stdin":"in"})");
  ASSERT_EQ(made.status, 200) << made.body;
  const json execution = made.json();
  EXPECT_EQ(execution["status"], "queued");
  EXPECT_EQ(execution["machine_id"], id_);
  EXPECT_EQ(execution["command"], json({"sh", "-c", "x"}));
  EXPECT_EQ(execution["cwd"], "a");
  EXPECT_EQ(execution["env_keys"], json({"B"}));
  EXPECT_EQ(execution["log_capture"], json::object());
  EXPECT_EQ(made.body.find("s3cret"), std::string::npos);
  EXPECT_EQ(made.header("x-millrace-job"), execution["execution_id"]);
  EXPECT_FALSE(made.has("idempotent-replayed"));
  EXPECT_EQ(this->execution(execution["execution_id"]), execution);
}

TEST_F(Executions, TheWorkerGetsTheSpecAndTheSealedEnvironment) {
  begin();
  const std::string id = make(R"({"command":["cat"],"env":{"B":"s3cret"},"stdin":"in","timeout_ms":5})");
  const auto claimed = claim(Kind::kExec);
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(claimed->lease.job.str(), id);
  const auto spec = schemas::execution_spec_from_json(claimed->spec).value();
  EXPECT_EQ(spec.timeout, std::chrono::milliseconds(5));
  EXPECT_TRUE(spec.has_input) << "the spec records the input even after its bytes are deleted";
  ASSERT_TRUE(claimed->input.has_value());
  EXPECT_EQ(store->blobs().read(*claimed->input).value(), "in");
  const std::string sealed = storage::JobQueries(*store).secret(claimed->lease.job).value();
  EXPECT_EQ(sealed.find("s3cret"), std::string::npos);
  const auto plain = base::unseal(secret_key, id, sealed);
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(schemas::environment_from_json(*plain).value(), (schemas::Environment{{"B", "s3cret"}}));
}

TEST_F(Executions, WhatIsLargeTravelsAsABlob) {
  begin();
  const std::string input(300'000, 'i'), word(100'000, 'w');
  const std::string id = make(json{{"command", {"cat", word}}, {"stdin", input}}.dump());
  const auto claimed = claim(Kind::kExec);
  ASSERT_TRUE(claimed && claimed->spec_blob && claimed->input);
  const std::string spec = store->blobs().read(*claimed->spec_blob).value();
  EXPECT_EQ(schemas::execution_spec_from_json(spec).value().command.back(), word);
  EXPECT_EQ(store->blobs().read(*claimed->input).value(), input);
  EXPECT_EQ(execution(id)["command"], json({"cat", word}));
}

TEST_F(Executions, OneWithoutInputHasNone) {
  begin();
  make();
  EXPECT_FALSE(claim(Kind::kExec)->input.has_value());
}

TEST_F(Executions, WithoutAnIdempotencyKeyNothingIsMade) {
  begin();
  const Answer answer = post(root_, kTrue);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_NE(answer.json()["detail"].get<std::string>().find("Idempotency-Key"), std::string::npos);
  EXPECT_EQ(get(root_).json()["items"].size(), 0u);
}

TEST_F(Executions, ARepeatedRequestGetsTheExecutionAsItIsNow) {
  begin();
  const json first = create(kTrue, "once").json();
  finish(lease(), exit(0));
  const Answer again = create(kTrue, "once");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_EQ(again.json()["execution_id"], first["execution_id"]);
  EXPECT_EQ(again.json()["status"], "succeeded");
  EXPECT_EQ(get(root_).json()["items"].size(), 1u);
}

TEST_F(Executions, AKeyWithAnotherBodyIsRefusedInTheMachineShape) {
  begin();
  create(kTrue, "once");
  const Answer other = create(R"({"command":["false"]})", "once");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.json()["error_code"], "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(other.header("x-should-retry"), "false");
  const std::string first = base::hex(base::sha256(kTrue));
  EXPECT_EQ(other.json()["details"]["expected_request_hash"], first);
  const json hash = other.json()["details"]["provided_request_hash"];
  EXPECT_EQ(hash, base::hex(base::sha256(R"({"command":["false"]})")));
}

TEST_F(Executions, ABadRequestIsAProblemThatListsWhatIsWrong) {
  begin();
  const Answer answer = create(R"({"command":[],"timeout_ms":-1,"colour":1})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  std::vector<std::string> locations;
  const json problem = answer.json();
  for (const json& each : problem["errors"]) locations.push_back(each["location"]);
  EXPECT_EQ(locations, (std::vector<std::string>{"body.command", "body.timeout_ms", "body.colour"}));
  EXPECT_EQ(create("{").status, 400);
  EXPECT_EQ(create(json{{"command", {"cat"}}, {"stdin", std::string(8'388'609, 'x')}}.dump()).status, 422);
}

TEST_F(Executions, AMachineThatIsNotThereIsAProblem) {
  begin();
  const std::string foreign = machine("other");
  for (const std::string& id : {std::string("local"), std::string("dm-x"), foreign,
                                std::string("dm-01932b6c-8a00-7000-8000-000000000001")}) {
    const std::string path = "/v1/machines/" + id;
    const Answer made = post(path + "/executions", kTrue, "Idempotency-Key: k\r\n");
    EXPECT_EQ(made.status, 404) << id;
    EXPECT_EQ(made.header("content-type"), "application/problem+json");
    EXPECT_EQ(get(path).status, 404) << id;
    EXPECT_EQ(get(path + "/executions").status, 404) << id;
  }
}

TEST_F(Executions, AreThoseOfTheirMachineAndTenantAlone) {
  begin();
  const std::string id = make();
  const std::string neighbour = "/v1/machines/" + machine() + "/executions";
  const std::string unknown_client = key(schemas::ScopeSet::all(), "other");
  EXPECT_EQ(get(neighbour).json()["items"].size(), 0u);
  for (const char* below : {"", "/output", "/events"}) {
    EXPECT_EQ(get(neighbour + "/" + id + below).status, 404) << below;
    EXPECT_EQ(send({.path = root_ + "/" + id + below, .key = unknown_client}).status, 404) << below;
    EXPECT_EQ(get(root_ + "/" + kUnknownExecution + below).status, 404) << below;
    EXPECT_EQ(get(root_ + "/ocr-01932b6c-8a00-7000-8000-000000000001" + below).status, 404) << below;
  }
  EXPECT_EQ(remove(neighbour + "/" + id).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = root_ + "/" + id, .key = unknown_client}).status, 404);
  EXPECT_EQ(execution(id)["status"], "queued");
}

TEST_F(Executions, NeedTheirScopesAndSaySoInTheMachineShape) {
  begin();
  const std::string id = make();
  const std::string reader = key({schemas::Scope::kExecRead});
  EXPECT_EQ(send({.path = root_ + "/" + id, .key = reader}).status, 200);
  const Answer refused = send({.method = "DELETE", .path = root_ + "/" + id, .key = reader});
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.json()["error_code"], "AUTH_SCOPE_FORBIDDEN");
  EXPECT_EQ(send({.path = root_}).json()["error_code"], "AUTH_REQUIRED");
}

TEST_F(Executions, AreListedNewestFirstInPages) {
  begin();
  std::vector<std::string> made, seen;
  for (int i = 0; i < 5; ++i) made.insert(made.begin(), make());
  std::string cursor;
  do {
    const json page = get(root_ + "?limit=2&cursor=" + cursor).json();
    ASSERT_FALSE(page["items"].empty());
    for (const json& item : page["items"]) seen.push_back(item["execution_id"]);
    cursor = page.value("next_cursor", "");
  } while (!cursor.empty());
  EXPECT_EQ(seen, made);
  EXPECT_EQ(get(root_ + "?limit=0").status, 422);
  EXPECT_EQ(get(root_ + "?cursor=x").status, 422);
}

TEST_F(Executions, APageOfLargeOnesEndsEarlyWithACursor) {
  begin();
  const std::string large = json{{"command", {"echo", std::string(120'000, 'x')}}}.dump();
  for (int i = 0; i < 40; ++i) make(large);
  const json page = get(root_).json();
  EXPECT_EQ(page["items"].size(), 34u);  // of 4 MiB
  EXPECT_EQ(get(root_ + "?cursor=" + page["next_cursor"].get<std::string>()).json()["items"].size(), 6u);
}

TEST_F(Executions, APageThatExceedsTheReplyBudgetEndsEarlyAndIsNeverEmpty) {
  begin({.reply_budget_bytes = 300 << 10});
  const std::string large = json{{"command", {"echo", std::string(120'000, 'x')}}}.dump();
  for (int i = 0; i < 4; ++i) make(large);
  const json page = get(root_).json();
  EXPECT_EQ(page["items"].size(), 2u);
  EXPECT_TRUE(page.contains("next_cursor"));
}

TEST_F(Executions, APageThatFindsNoReplyBudgetIsRefusedNamingTheBound) {
  begin({.reply_budget_bytes = 1});
  make(json{{"command", {"echo", std::string(120'000, 'x')}}}.dump());
  const Answer refused = get(root_);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("http.reply_budget"), std::string::npos);
}

TEST_F(Executions, AQueuedOneIsCancelledAtOnceAndThenForgotten) {
  begin();
  const std::string path = root_ + "/" + make();
  EXPECT_EQ(remove(path).json()["status"], "cancelled");
  const Answer last = remove(path);
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.json()["status"], "cancelled");
  EXPECT_EQ(get(path).status, 404);
  EXPECT_EQ(remove(path).status, 404);
}

TEST_F(Executions, EachDeleteRequestsACancelOfARunningExecution) {
  begin();
  const std::string path = root_ + "/" + make();
  const auto held = lease();
  EXPECT_EQ(remove(path).json()["status"], "running");
  EXPECT_EQ(remove(path).json()["status"], "running");
  EXPECT_EQ(get(path).status, 200);
  fail(held, Code::kCommandFailed, "exit code 3", exit(3));
  const Answer last = remove(path);
  EXPECT_EQ(last.json()["status"], "cancelled");  // it ended after the cancel request
  EXPECT_EQ(get(path).status, 404);
}

TEST_F(Executions, AKeyWhoseExecutionWasForgottenFindsNothing) {
  begin();
  const std::string path = root_ + "/" + create(kTrue, "once").json()["execution_id"].get<std::string>();
  remove(path);
  remove(path);
  EXPECT_EQ(create(kTrue, "once").status, 404);
}

TEST_F(Executions, AreJobsToo) {
  begin();
  const std::string id = make(), job = "/v1/jobs/" + id;
  EXPECT_EQ(get("/v1/jobs?kind=exec").json()["items"][0]["id"], id);
  EXPECT_EQ(get(job).json()["kind"], "exec");
  EXPECT_EQ(get(job + "/result").status, 202);
  EXPECT_EQ(get(job + "/result?partial=true").json()["status"], "queued");
  fail(lease(), Code::kCommandFailed, "exit code 1", exit(1));
  EXPECT_EQ(get(job + "/result").json(), execution(id));
  const Answer again = post(job + "/retry", "");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.json()["error"]["code"], "invalid_state");
}

TEST_F(Executions, WhatIsDoneToThemIsAuditedByEitherRoute) {
  begin();
  const std::string first = make(), second = make();
  EXPECT_EQ(post("/v1/jobs/" + first + "/cancel", "").status, 200);
  remove(root_ + "/" + second);
  remove(root_ + "/" + second);
  EXPECT_EQ(audited(first), (std::vector<std::string>{"execution.create", "execution.cancel"}));
  EXPECT_EQ(audited(second),
            (std::vector<std::string>{"execution.create", "execution.cancel", "execution.delete"}));
}

TEST_F(Executions, AKeyAtItsLimitMayStillJoinItsJob) {
  key_limits[schemas::Quota::kRunningJobs] = 1;
  begin();
  const json first = create(kTrue, "once").json();
  const Answer second = create(kTrue, "two");
  EXPECT_EQ(second.status, 429);
  EXPECT_EQ(second.json()["error_code"], "RATE_LIMITED");
  EXPECT_EQ(create(kTrue, "once").json()["execution_id"], first["execution_id"]);
  remove(root_ + "/" + first["execution_id"].get<std::string>());
  EXPECT_TRUE(support::wait_until([&] { return create(kTrue, "three").status == 200; }));
}

TEST_F(Executions, ADeleteThatIsRepeatedWithItsKeyDoesNothingMore) {
  begin();
  const std::string path = root_ + "/" + make(), once = "Idempotency-Key: once\r\n";
  const Answer first = remove(path, once);
  EXPECT_EQ(first.json()["status"], "cancelled");
  const Answer again = remove(path, once);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(get(path).status, 200);
  const std::string twice = "Idempotency-Key: twice\r\n";
  const Answer gone = remove(path, twice);
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(get(path).status, 404);
  EXPECT_EQ(remove(path, twice).body, gone.body);  // the job is deleted, but the stored reply is returned
  EXPECT_EQ(remove(path, "Idempotency-Key: new\r\n").status, 404);
}

TEST_F(Executions, AnUnknownPathOrMethodBelowMachinesIsAProblem) {
  begin();
  const Answer logs = get("/v1/machines/" + id_ + "/logs");
  EXPECT_EQ(logs.status, 404);
  EXPECT_EQ(logs.header("content-type"), "application/problem+json");
  const Answer patch = send({.method = "PATCH", .path = root_, .key = owner});
  EXPECT_EQ(patch.status, 405);
  EXPECT_EQ(patch.header("content-type"), "application/problem+json");
}

}  // namespace
}  // namespace millrace::api::test
