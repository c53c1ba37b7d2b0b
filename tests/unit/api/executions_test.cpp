#include <gtest/gtest.h>

#include "platform/base/crypto.h"
#include "schemas/execution.h"
#include "schemas/json_body.h"
#include "storage/job_queries.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using base::Code;
using nlohmann::json;
using schemas::ExecutionResult;
using schemas::Kind;

constexpr const char* kTrue = R"({"command":["true"]})";
constexpr const char* kStream = "Accept: text/event-stream\r\n";
const std::string kUnknown = "exec-01932b6c-8a00-7000-8000-000000000001";

// One machine with executions; the test is its worker.
class Executions : public Served {
 protected:
  void begin(Options options = {}) {
    start(std::move(options));
    id_ = machine();
    root_ = "/v1/machines/" + id_ + "/executions";
  }
  Answer create(const std::string& body = kTrue, std::string key = {}) {
    if (key.empty()) key = "k" + std::to_string(++keys_);
    return post(root_, body, "Idempotency-Key: " + key + "\r\n");
  }
  std::string make(const std::string& body = kTrue) {
    const Answer made = create(body);
    EXPECT_EQ(made.status, 200) << made.body;
    return made.json().value("execution_id", "");
  }
  Answer remove(const std::string& path, const std::string& more = {}) {
    return send({.method = "DELETE", .path = path, .key = owner, .headers = more});
  }
  json execution(const std::string& id) { return get(root_ + "/" + id).json(); }
  storage::Lease lease() { return claim(Kind::kExec)->lease; }
  storage::Applied out(const storage::Lease& lease, std::string_view bytes, const char* stream = "stdout") {
    return tell(lease, {{.type = stream, .data = schemas::output_event_data(bytes)}});
  }
  static std::string exit(int code, std::int64_t bytes = 0) {
    return schemas::to_json(ExecutionResult{.exit_code = code, .signal = {}, .stdout_bytes = bytes});
  }

  std::string id_, root_;
  int keys_ = 0;
};

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
  EXPECT_EQ(spec.input, "in");
  EXPECT_EQ(spec.timeout, std::chrono::milliseconds(5));
  const std::string sealed = storage::JobQueries(*store).secret(claimed->lease.job).value();
  EXPECT_EQ(sealed.find("s3cret"), std::string::npos);
  const auto plain = base::unseal(secret_key, id, sealed);
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(schemas::environment_from_json(*plain).value(), (schemas::Environment{{"B", "s3cret"}}));
}

TEST_F(Executions, WhatIsLargeTravelsAsABlob) {
  begin();
  const std::string input(300'000, 'i');
  const std::string id = make(json{{"command", {"cat"}}, {"stdin", input}}.dump());
  const auto claimed = claim(Kind::kExec);
  ASSERT_TRUE(claimed && claimed->spec_blob);
  const std::string spec = store->blobs().read(*claimed->spec_blob).value();
  EXPECT_EQ(schemas::execution_spec_from_json(spec).value().input, input);
  EXPECT_EQ(execution(id)["command"], json({"cat"}));
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
  const std::string stranger = key(schemas::ScopeSet::all(), "other");
  EXPECT_EQ(get(neighbour).json()["items"].size(), 0u);
  for (const char* below : {"", "/output", "/events"}) {
    EXPECT_EQ(get(neighbour + "/" + id + below).status, 404) << below;
    EXPECT_EQ(send({.path = root_ + "/" + id + below, .key = stranger}).status, 404) << below;
    EXPECT_EQ(get(root_ + "/" + kUnknown + below).status, 404) << below;
    EXPECT_EQ(get(root_ + "/ocr-01932b6c-8a00-7000-8000-000000000001" + below).status, 404) << below;
  }
  EXPECT_EQ(remove(neighbour + "/" + id).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = root_ + "/" + id, .key = stranger}).status, 404);
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
  const std::string large = json{{"command", {"cat"}}, {"stdin", std::string(8'000'000, 'x')}}.dump();
  for (int i = 0; i < 4; ++i) make(large);
  const json page = get(root_).json();
  EXPECT_EQ(page["items"].size(), 3u);
  EXPECT_EQ(get(root_ + "?cursor=" + page["next_cursor"].get<std::string>()).json()["items"].size(), 1u);
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

TEST_F(Executions, ARunningOneIsAskedToStopAsOftenAsItIsDeleted) {
  begin();
  const std::string path = root_ + "/" + make();
  const auto held = lease();
  EXPECT_EQ(remove(path).json()["status"], "running");
  EXPECT_EQ(remove(path).json()["status"], "running");
  EXPECT_EQ(get(path).status, 200);
  fail(held, Code::kCommandFailed, "exit code 3", exit(3));
  const Answer last = remove(path);
  EXPECT_EQ(last.json()["status"], "cancelled");  // its end came after the wish
  EXPECT_EQ(get(path).status, 404);
}

TEST_F(Executions, AKeyWhoseExecutionWasForgottenFindsNothing) {
  begin();
  const std::string path = root_ + "/" + create(kTrue, "once").json()["execution_id"].get<std::string>();
  remove(path);
  remove(path);
  EXPECT_EQ(create(kTrue, "once").status, 404);
}

TEST_F(Executions, OutputIsWhatThereIsSoFar) {
  begin();
  const std::string path = root_ + "/" + make() + "/output";
  EXPECT_EQ(get(path).json()["stdout"], "");
  const auto held = lease();
  out(held, "one ");
  out(held, "error", "stderr");
  out(held, "two");
  const json running = get(path).json();
  EXPECT_EQ(running["stdout"], "one two");
  EXPECT_EQ(running["stderr"], "error");
  EXPECT_FALSE(running.contains("stdout_bytes"));
  finish(held, exit(0, 7));
  const json over = get(path).json();
  EXPECT_EQ(over["stdout_bytes"], 7);
  EXPECT_EQ(over["stdout_truncated"], false);
  EXPECT_FALSE(over.contains("stdout_encoding"));
}

TEST_F(Executions, OutputThatIsNoTextIsBase64) {
  begin();
  const std::string path = root_ + "/" + make() + "/output";
  const auto held = lease();
  out(held, "ok");
  out(held, "\xff");
  const json output = get(path).json();
  EXPECT_EQ(output["stdout"], "b2v/");
  EXPECT_EQ(output["stdout_encoding"], "base64");
  EXPECT_EQ(output["stderr"], "");
  EXPECT_FALSE(output.contains("stderr_encoding"));
}

TEST_F(Executions, EventsTellTheLifeAndTheOutputInOrder) {
  begin();
  const std::string path = root_ + "/" + make() + "/events";
  const auto held = lease();
  out(held, "a\n");
  out(held, "\xff", "stderr");
  fail(held, Code::kCommandFailed, "exit code 3", exit(3));
  const json items = get(path).json()["items"];
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items[0]["type"], "lifecycle");
  EXPECT_EQ(items[0]["status"], "queued");
  EXPECT_EQ(items[0]["sequence"], 1);
  EXPECT_EQ(items[1]["status"], "running");
  EXPECT_EQ(items[2]["type"], "stdout");
  EXPECT_EQ(items[2]["chunk"], "a\n");
  EXPECT_FALSE(items[2].contains("encoding"));
  EXPECT_EQ(items[3]["type"], "stderr");
  EXPECT_EQ(items[3]["encoding"], "base64");
  EXPECT_EQ(items[4]["status"], "failed");
  EXPECT_EQ(items[4]["exit_code"], 3);
  EXPECT_FALSE(items[4].contains("error_code"));
  const json first = get(path + "?limit=2").json();
  EXPECT_EQ(first["items"].size(), 2u);
  EXPECT_EQ(get(path + "?cursor=" + first["next_cursor"].get<std::string>()).json()["items"].size(), 3u);
  EXPECT_EQ(get(path + "?after=4").json()["items"].size(), 1u);
  EXPECT_EQ(get(path + "?after=x").status, 422);
}

TEST_F(Executions, AnEndThatIsOursCarriesItsErrorInTheEvent) {
  begin();
  const std::string path = root_ + "/" + make();
  fail(lease(), Code::kExecutionPrepareFailed, "no such command");
  const json last = get(path + "/events?after=2").json()["items"][0];
  EXPECT_EQ(last["error_code"], "execution_runner_prepare_failed");
  EXPECT_EQ(last["error_message"], "no such command");
  EXPECT_EQ(get(path).json()["error_code"], "execution_runner_prepare_failed");
}

TEST_F(Executions, EventsComeAsAStreamThatEndsWithTheCommandAndResumes) {
  begin();
  const std::string path = root_ + "/" + make() + "/events";
  Connection client(server->port());
  client.send({.path = path, .key = owner, .headers = kStream});
  ASSERT_TRUE(client.saw("id: 1\nevent: lifecycle\ndata: {\"sequence\":1,"));
  const auto held = lease();
  out(held, "x\ny");
  ASSERT_TRUE(client.saw("id: 3\nevent: stdout\ndata: {\"sequence\":3,"));
  ASSERT_TRUE(client.saw(R"("chunk":"x\ny"})"));
  finish(held, exit(0));
  const Answer whole = client.answer();
  EXPECT_EQ(whole.header("content-type"), "text/event-stream");
  EXPECT_NE(whole.body.find(R"("status":"succeeded","exit_code":0})"), std::string::npos) << whole.body;
  const Answer rest = get(path, std::string(kStream) + "Last-Event-ID: 3\r\n");
  EXPECT_EQ(rest.body.find("id: 4\n"), 0u);
  EXPECT_EQ(get(path, std::string(kStream) + "Last-Event-ID: 4\r\n").status, 204);
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

TEST_F(Executions, AKeyWithoutAPlaceForAnotherJobMayStillJoinItsOwn) {
  begin({.concurrent_jobs = 1});
  const json first = create(kTrue, "once").json();
  const Answer second = create(kTrue, "two");
  EXPECT_EQ(second.status, 429);
  EXPECT_EQ(second.json()["error_code"], "RATE_LIMITED");
  EXPECT_EQ(create(kTrue, "once").json()["execution_id"], first["execution_id"]);
  remove(root_ + "/" + first["execution_id"].get<std::string>());
  EXPECT_TRUE(support::wait_until([&] { return create(kTrue, "three").status == 200; }));
}

TEST_F(Executions, MachinesAreListedAndShownWithTheirStatus) {
  begin();
  machine("other");
  const std::string second = machine();
  const json page = get("/v1/machines?limit=1").json();
  ASSERT_EQ(page["items"].size(), 1u);
  EXPECT_EQ(page["items"][0]["machine_id"], second);
  EXPECT_FALSE(page["items"][0].contains("status"));
  const json rest = get("/v1/machines?cursor=" + page["next_cursor"].get<std::string>()).json();
  ASSERT_EQ(rest["items"].size(), 1u);
  EXPECT_FALSE(rest.contains("next_cursor"));
  const json one = get("/v1/machines/" + id_).json();
  EXPECT_EQ(one["machine_id"], id_);
  EXPECT_EQ(one["status"]["phase"], "running");
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
