#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "api/routing/route.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/executions.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;
using schemas::Kind;

constexpr std::string_view kOneMachine = "/v1/machines/{machine_id}";
constexpr const char* kUnknown = "dm-01932b6c-8a00-7000-8000-0000000000ff";

// A machine `box`. The test acts as its worker.
class MachineNames : public Executions {
 protected:
  void begin_named(const std::string& name = "box") {
    start();
    id_ = made(name);
    root_ = "/v1/machines/" + id_ + "/executions";
  }
  std::string made(const std::string& name) {
    const std::string id =
        post("/v1/machines", R"({"name":")" + name + R"("})").json().value("machine_id", "");
    EXPECT_EQ(act(), "wake");
    return id;
  }
  storage::ClaimedJob copy() {
    std::optional<storage::ClaimedJob> job;
    EXPECT_TRUE(support::wait_until([&] { return (job = claim(Kind::kExec)).has_value(); }));
    EXPECT_EQ(schemas::machine_id(schemas::execution_spec_from_json(job.value().spec)->machine), id_);
    return *std::move(job);
  }
  // The path of a route with ids of nothing, but of this machine. A file has a path that runs nothing.
  static std::string path_of(const Route& route, const std::string& machine) {
    std::string path(route.pattern);
    path.replace(path.find("{machine_id}"), std::string_view("{machine_id}").size(), machine);
    for (const auto& [name, value] :
         {std::pair("{execution_id}", "exec-01932b6c-8a00-7000-8000-000000000001"),
          std::pair("{artifact_id}", "art-01932b6c-8a00-7000-8000-000000000001"),
          std::pair("{session_id}", "ssh-01932b6c-8a00-7000-8000-000000000001"),
          std::pair("{path...}", "a//b")}) {
      if (const std::size_t at = path.find(name); at != std::string::npos)
        path.replace(at, std::string_view(name).size(), value);
    }
    return path;
  }
  Answer call(const Route& route, const std::string& machine) {
    return send({.method = std::string(name(route.method)),
                 .path = path_of(route, machine),
                 .key = owner,
                 .headers = "Idempotency-Key: walk-" + machine + "\r\n",
                 .body = route.body == BodyKind::kNone ? "" : R"({"x":1})"});
  }
};

TEST_F(MachineNames, EachOperationTakesTheNameInPlaceOfTheId) {
  begin_named();
  int walked = 0;
  for (const Route& route : machine_routes()) {
    if (!route.pattern.starts_with(kOneMachine) || route.operation.id == "deleteMachine") continue;
    const Answer by_id = call(route, id_), by_name = call(route, "box");
    EXPECT_EQ(by_name.status, by_id.status) << route.operation.id << by_name.body;
    EXPECT_EQ(call(route, "nobody").status, call(route, kUnknown).status) << route.operation.id;
    if (route.body == BodyKind::kNone) {
      EXPECT_EQ(call(route, "nobody").status, 404) << route.operation.id;
    }
    ++walked;
  }
  EXPECT_GT(walked, 20);
  EXPECT_EQ(get("/v1/machines/box").json()["machine_id"], id_);
}

TEST_F(MachineNames, ACommandRunsOnTheMachineOfThatName) {
  begin_named();
  made("other");
  const json execution = post("/v1/machines/box/executions", kTrue, "Idempotency-Key: k\r\n").json();
  EXPECT_EQ(execution["machine_id"], id_);
  const std::string path = "/v1/machines/box/executions/" + execution["execution_id"].get<std::string>();
  EXPECT_EQ(get(path).json(), execution);
  EXPECT_EQ(get("/v1/machines/other/executions/" + execution["execution_id"].get<std::string>()).status, 404);
}

TEST_F(MachineNames, AFileIsCopiedByTheName) {
  begin_named();
  made("other");
  Connection client(server->port());
  const std::string path = "/v1/machines/box/files/a/b";
  client.send({.method = "PUT", .path = path, .key = owner, .body = "x", .type = "text/plain"});
  finish(copy().lease, exit(0, 1));
  EXPECT_EQ(client.answer().status, 201);
  client.send({.path = path, .key = owner});
  const storage::Lease lease = copy().lease;
  leave(lease, id_, "b", "x");
  finish(lease, exit(0));
  const Answer read = client.answer();
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.body, "x");
  client.send({.method = "DELETE", .path = path, .key = owner});
  finish(copy().lease, exit(0));
  EXPECT_EQ(client.answer().status, 204);
}

TEST_F(MachineNames, AnIdempotencyKeyIsOfTheMachineAndNotOfItsName) {
  begin_named();
  const std::string again = "Idempotency-Key: k\r\n", by_name = "/v1/machines/box/executions";
  const Answer first = post(by_name, kTrue, again), second = post(root_, kTrue, again);
  EXPECT_EQ(second.json()["execution_id"], first.json()["execution_id"]) << second.body;
  EXPECT_EQ(second.header("idempotent-replayed"), "true");
  EXPECT_EQ(remove("/v1/machines/" + id_).status, 200);
  const std::string fresh = post("/v1/machines", R"({"name":"box"})").json().value("machine_id", "");
  const Answer third = post(by_name, kTrue, again);
  EXPECT_EQ(third.json()["machine_id"], fresh) << third.body;
  EXPECT_FALSE(third.has("idempotent-replayed"));
}

TEST_F(MachineNames, ANameOfAnotherTenantIsAnsweredLikeOneThatNobodyHas) {
  begin_named();
  const std::string theirs = key(schemas::ScopeSet::of_a_new_key(), "other");
  const auto answer = [&](const std::string& machine) {
    const Answer got = send({.path = "/v1/machines/" + machine, .key = theirs});
    return std::to_string(got.status) + got.body;
  };
  EXPECT_EQ(answer("box"), answer("nobody"));
  EXPECT_EQ(answer("box").substr(0, 3), "404");
  EXPECT_EQ(answer(id_), answer("box"));
}

TEST_F(MachineNames, ANameThatBecameFreeMeansTheNewMachine) {
  begin_named();
  const std::string path = "/v1/machines/box", again = "Idempotency-Key: rm\r\n";
  const Answer removed = remove(path, again);
  EXPECT_EQ(removed.status, 200) << removed.body;
  EXPECT_EQ(get(path).json()["desired_state"], "destroyed") << "until another machine has the name";
  EXPECT_EQ(remove(path, again).body, removed.body) << "a repeat";
  const std::string fresh = post("/v1/machines", R"({"name":"box"})").json().value("machine_id", "");
  ASSERT_NE(fresh, "");
  EXPECT_EQ(get(path).json()["machine_id"], fresh);
}

TEST_F(MachineNames, OddNamesAreOfNoMachine) {
  begin_named();
  for (const char* odd :
       {"BOX", "box%20", "%00", "..", "dm-", "dm-x", "00000000-0000-0000-0000-000000000000"}) {
    EXPECT_EQ(get("/v1/machines/" + std::string(odd)).status, 404) << odd;
  }
}

}  // namespace
}  // namespace millrace::api::test
