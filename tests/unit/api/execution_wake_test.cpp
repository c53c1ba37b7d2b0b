#include "tests/unit/api/executions.h"

namespace millrace::api::test {
namespace {

using base::Code;
using nlohmann::json;
using schemas::Kind;

TEST_F(Executions, OneOnAMachineThatSleepsWaitsForItAndSaysHowLong) {
  start();
  id_ = new_machine();
  root_ = "/v1/machines/" + id_ + "/executions";
  const Answer made = create();
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.json()["status"], "wake_in_progress");
  EXPECT_EQ(made.json()["retry_after_ms"], 1000);
  EXPECT_EQ(made.header("retry-after-ms"), "1000");
  const std::string path = root_ + "/" + made.json()["execution_id"].get<std::string>();
  EXPECT_EQ(get(path).header("retry-after-ms"), "1000");
  const std::string job = "/v1/jobs/" + made.json()["execution_id"].get<std::string>();
  EXPECT_EQ(get(job).json()["status"], "wake_in_progress");
  EXPECT_EQ(get("/v1/jobs?status=wake_in_progress").json()["items"].size(), 1u);
  EXPECT_EQ(get("/v1/jobs?status=queued").json()["items"].size(), 0u);
  EXPECT_FALSE(claim(Kind::kExec).has_value());
  EXPECT_EQ(act(), "wake");
  EXPECT_EQ(act(), "");
  const Answer awake = get(path);
  EXPECT_EQ(awake.json()["status"], "queued");
  EXPECT_EQ(get(job).json()["status"], "queued");
  EXPECT_EQ(get("/v1/jobs?status=queued").json()["items"].size(), 1u);
  EXPECT_FALSE(awake.has("retry-after-ms"));
  EXPECT_TRUE(claim(Kind::kExec).has_value());
}

TEST_F(Executions, ThatAreNeverRunAgainHaveNoLinkToThat) {
  begin();
  const std::string job = "/v1/jobs/" + make();
  const json links = get(job).json()["links"];
  EXPECT_EQ(links.size(), 4u) << links;
  EXPECT_FALSE(links.contains("retry")) << links;
  EXPECT_EQ(post(job + "/cancel", "").json()["links"], links);
  EXPECT_EQ(post(job + "/retry", "").status, 409);
}

TEST_F(Executions, OneWhoseMachineDoesNotWakeFails) {
  start();
  id_ = new_machine();
  root_ = "/v1/machines/" + id_ + "/executions";
  const std::string id = make();
  fail_act(Code::kMachineWakeFailed, "its probe did not answer in 120s");
  const json over = execution(id);
  EXPECT_EQ(over["status"], "failed");
  EXPECT_EQ(over["error_code"], "machine_wake_failed");
  const json machine = get("/v1/machines/" + id_).json();
  EXPECT_EQ(machine["phase"], "failed");
  EXPECT_EQ(machine["status"]["retryable"], true);
}

TEST_F(Executions, NeedASandboxHereOnlyOnMachinesOfThatDriver) {
  begin({.executions_off = "bubblewrap does not work here"});
  const Answer refused = create();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.json()["message"], "bubblewrap does not work here");
  root_ = "/v1/machines/" + ssh_machine("build-1", 22) + "/executions";
  EXPECT_EQ(create().status, 200);
}

}  // namespace
}  // namespace millrace::api::test
