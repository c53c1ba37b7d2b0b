#include <gtest/gtest.h>

#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;
using schemas::Kind;

constexpr const char* kRoot = "/v1/machines";
const std::string kUnknownMachine = "/v1/machines/dm-01932b6c-8a00-7000-8000-000000000001";

// Machines through the API. The test acts as their worker.
class MachinesApi : public Served {
 protected:
  std::string make(const std::string& body = "", const std::string& headers = {}) {
    const Answer made = post(kRoot, body, headers);
    EXPECT_EQ(made.status, 200) << made.body;
    return path_of(made);
  }
  static std::string path_of(const Answer& made) {
    return std::string(kRoot) + "/" + made.json().value("machine_id", "");
  }
  Answer patch(const std::string& path, const std::string& body) {
    return send({.method = "PATCH", .path = path, .key = owner, .headers = {}, .body = body});
  }
  std::string execute(const std::string& path) {
    const Answer made = post(path + "/executions", R"({"command":["true"]})",
                             "Idempotency-Key: e" + std::to_string(++keys_) + "\r\n");
    EXPECT_EQ(made.status, 200) << made.body;
    return path + "/executions/" + made.json().value("execution_id", "");
  }
  std::string phase(const std::string& path) { return get(path).json().value("phase", ""); }
  int keys_ = 0;
};

TEST_F(MachinesApi, ANewOneHasItsDefaultsAndWakesByItself) {
  start();
  const std::string path = make();
  const json machine = get(path).json();
  EXPECT_EQ(machine["driver"], "sandbox");
  EXPECT_EQ(machine["vcpu"], 1);
  EXPECT_EQ(machine["memory_mib"], 1024);
  EXPECT_EQ(machine["storage_gib"], 4);
  EXPECT_EQ(machine["autosleep_seconds"], 0);
  EXPECT_EQ(machine["desired_state"], "running");
  EXPECT_EQ(machine["phase"], "accepted");
  EXPECT_EQ(machine["name"].get<std::string>().find("machine-"), 0u);
  const auto claimed = claim(Kind::kMachine);
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(phase(path), "accepted");
  finish(claimed->lease,
         schemas::to_json(schemas::ActResult{.facts = {.limits = "rlimits", .disk = "watched"}, .ssh = {}}));
  const json awake = get(path).json();
  EXPECT_EQ(awake["phase"], "running");
  EXPECT_EQ(awake["status"]["phase"], "running");
  EXPECT_EQ(awake["status"]["limits"], "rlimits");
  EXPECT_EQ(awake["status"]["disk"], "watched");
}

TEST_F(MachinesApi, HaveTheSizeThatIsAskedForAndMayChangeIt) {
  start();
  const std::string path =
      make(R"({"name":"b1","vcpu":0.5,"memory_mib":512,"storage_gib":2,"autosleep":"15m"})");
  EXPECT_EQ(get(path).json()["autosleep_seconds"], 900);
  const Answer changed = patch(path, R"({"name":"b2","vcpu":2,"storage_gib":3,"autosleep":"never"})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  const json machine = get(path).json();
  EXPECT_EQ(machine["name"], "b2");
  EXPECT_EQ(machine["vcpu"], 2);
  EXPECT_EQ(machine["memory_mib"], 512);
  EXPECT_EQ(machine["storage_gib"], 3);
  EXPECT_EQ(machine["autosleep_seconds"], 0);
  const Answer smaller = patch(path, R"({"storage_gib":1})");
  EXPECT_EQ(smaller.status, 409);
  EXPECT_EQ(smaller.json()["error_code"], "INVALID_STATE");
}

TEST_F(MachinesApi, ABadRequestIsAProblemThatListsWhatIsWrong) {
  start();
  const std::string path = make();
  for (const char* body : {R"({"vcpu":0})", R"({"memory_mib":"1"})", R"({"autosleep":"soon"})",
                           R"({"name":"a b"})", R"({"driver":"ssh"})", R"({"storage_gib":1e400})",
                           R"({"memory_mib":1000000000000000000000000000000})"}) {
    for (const Answer& answer : {post(kRoot, body), patch(path, body)}) {
      EXPECT_EQ(answer.status, 422) << body;
      EXPECT_EQ(answer.header("content-type"), "application/problem+json");
      EXPECT_EQ(answer.json()["errors"].size(), 1u) << answer.body;
    }
  }
  EXPECT_EQ(post(kRoot, "[").status, 400);
  EXPECT_EQ(post(path + "/reboot", R"({"force":"yes"})").status, 422);
}

TEST_F(MachinesApi, AreListedNewestFirstInPages) {
  start();
  const std::string first = machine();
  machine("other");
  const std::string second = machine();
  const json page = get("/v1/machines?limit=1").json();
  ASSERT_EQ(page["items"].size(), 1u);
  EXPECT_EQ(page["items"][0]["machine_id"], second);
  EXPECT_FALSE(page["items"][0].contains("status"));
  const json rest = get("/v1/machines?cursor=" + page["next_cursor"].get<std::string>()).json();
  ASSERT_EQ(rest["items"].size(), 1u);
  EXPECT_EQ(rest["items"][0]["machine_id"], first);
  EXPECT_FALSE(rest.contains("next_cursor"));
}

TEST_F(MachinesApi, SleepAndWakeByTheirActs) {
  start();
  const std::string path = std::string(kRoot) + "/" + machine();
  const Answer wanted = post(path + "/sleep", "");
  ASSERT_EQ(wanted.status, 200) << wanted.body;
  EXPECT_EQ(wanted.json()["desired_state"], "sleeping");
  EXPECT_EQ(act(), "sleep");
  EXPECT_EQ(phase(path), "sleeping");
  EXPECT_EQ(post(path + "/wake", "").json()["desired_state"], "running");
  EXPECT_EQ(act(), "wake");
  EXPECT_EQ(phase(path), "running");
  EXPECT_EQ(post(path + "/wake", "").status, 200);
  EXPECT_EQ(act(), "");
}

TEST_F(MachinesApi, AreNotPutToSleepUnderWhatRunsOnThem) {
  start();
  const std::string path = std::string(kRoot) + "/" + machine();
  const std::string execution = execute(path);
  for (const char* below : {"/sleep", "/reboot"}) {
    const Answer refused = post(path + below, "");
    EXPECT_EQ(refused.status, 409) << below;
    EXPECT_EQ(refused.json()["error_code"], "INVALID_STATE");
  }
  EXPECT_EQ(post(path + "/reboot", R"({"force":true})").status, 200);
  EXPECT_EQ(get(execution).json()["status"], "cancelled");
  EXPECT_EQ(act(), "reboot");
  EXPECT_EQ(phase(path), "running");
}

TEST_F(MachinesApi, ADestroyedOneIsGone) {
  start();
  const std::string path = std::string(kRoot) + "/" + machine();
  const std::string execution = execute(path);
  const Answer wanted = remove(path);
  ASSERT_EQ(wanted.status, 200) << wanted.body;
  EXPECT_EQ(wanted.json()["desired_state"], "destroyed");
  EXPECT_EQ(get(execution).json()["status"], "cancelled");
  const Answer late = post(path + "/executions", R"({"command":["true"]})", "Idempotency-Key: late\r\n");
  EXPECT_EQ(late.status, 409) << late.body;
  EXPECT_EQ(act(), "destroy");
  EXPECT_EQ(get(path).status, 404);
  EXPECT_EQ(remove(path).status, 404);
  EXPECT_EQ(get(path + "/executions").status, 404);
  EXPECT_EQ(get(kRoot).json()["items"].size(), 0u);
}

TEST_F(MachinesApi, ACallThatIsRepeatedWithItsKeyGetsItsFirstReply) {
  start();
  const std::string once = "Idempotency-Key: once\r\n";
  const Answer first = post(kRoot, R"({"name":"a"})", once);
  act();
  const Answer again = post(kRoot, R"({"name":"a"})", once);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_FALSE(first.has("idempotent-replayed"));
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(get(kRoot).json()["items"].size(), 1u);
  const Answer other = post(kRoot, R"({"name":"b"})", once);
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.json()["error_code"], "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(other.json()["details"].size(), 2u) << other.body;
  EXPECT_EQ(other.header("x-should-retry"), "false");
  EXPECT_EQ(post(kRoot, "", "Idempotency-Key: \r\n").status, 400);
  const std::string path = path_of(first);
  EXPECT_EQ(remove(path, once).body, remove(path, once).body);
}

TEST_F(MachinesApi, OnesOfTheFileBelongToTheirOperator) {
  start();
  const std::string path = std::string(kRoot) + "/" + ssh_machine("build-1", 22);
  EXPECT_EQ(get(path).json()["driver"], "ssh");
  EXPECT_EQ(patch(path, R"({"name":"b"})").status, 409);
  EXPECT_EQ(remove(path).status, 409);
  EXPECT_EQ(phase(path), "running");
}

TEST_F(MachinesApi, WhatIsNotThereOrAnothersIsAProblem) {
  start();
  const std::string foreign = std::string(kRoot) + "/" + machine("other");
  for (const std::string& path :
       {std::string(kRoot) + "/local", std::string(kRoot) + "/dm-x", kUnknownMachine, foreign}) {
    for (const Answer& answer : {get(path), patch(path, "{}"), remove(path), post(path + "/sleep", ""),
                                 post(path + "/wake", ""), post(path + "/reboot", "")}) {
      EXPECT_EQ(answer.status, 404) << path << answer.body;
      EXPECT_EQ(answer.header("content-type"), "application/problem+json");
    }
  }
}

TEST_F(MachinesApi, ChangingThemNeedsItsScope) {
  start();
  const std::string path = std::string(kRoot) + "/" + machine();
  const std::string reader = key({schemas::Scope::kExecRead});
  EXPECT_EQ(send({.path = path, .key = reader}).status, 200);
  for (const char* below : {"/sleep", "/wake", "/reboot"}) {
    const Answer refused = send({.method = "POST", .path = path + below, .key = reader});
    EXPECT_EQ(refused.status, 403) << below;
    EXPECT_EQ(refused.json()["error_code"], "AUTH_SCOPE_FORBIDDEN");
  }
  EXPECT_EQ(send({.method = "DELETE", .path = path, .key = reader}).status, 403);
}

TEST_F(MachinesApi, TheirActsAreNoJobsOfTheirOwners) {
  start();
  make();
  const auto claimed = claim(Kind::kMachine);
  ASSERT_TRUE(claimed.has_value());
  const std::string act_id = claimed->lease.job.str();
  EXPECT_EQ(get("/v1/jobs").json()["items"].size(), 0u);
  for (const char* below : {"", "/result", "/events"}) {
    EXPECT_EQ(get("/v1/jobs/" + act_id + below).status, 404) << below;
  }
  EXPECT_EQ(post("/v1/jobs/" + act_id + "/cancel", "").status, 404);
}

}  // namespace
}  // namespace millrace::api::test
