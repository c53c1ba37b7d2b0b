#include "schemas/machines/execution.h"

#include <gtest/gtest.h>

#include "schemas/machines/machine.h"

namespace millrace::schemas::execution_test {
namespace {

using base::Code;
using schemas::Json;

const base::Uuid kMachine = *base::Uuid::parse("01932b6c-8a00-7000-8000-000000000001");

ExecutionSpec spec_of(std::vector<std::string> command) {
  ExecutionSpec spec;
  spec.machine = kMachine;
  spec.command = std::move(command);
  return spec;
}

JobView job_in(JobStatus status, std::optional<JobError> error = {}) {
  JobView job;
  job.id = {Kind::kExec, kMachine};
  job.status = status;
  job.created_at = base::wall_from(1'700'000'000'000);
  if (status != JobStatus::kQueued) job.started_at = base::wall_from(1'700'000'001'000);
  if (is_terminal(status)) {
    job.completed_at = base::wall_from(1'700'000'002'000);
    job.result_expires_at = base::wall_from(1'700'604'802'000);
  }
  job.error = std::move(error);
  return job;
}

Json shown(const JobView& job, const std::optional<ExecutionResult>& result = {},
           const ExecutionSpec& spec = spec_of({"true"}), const ArtifactNames& artifacts = {}) {
  return Json::parse(execution_json(job, spec, result, artifacts));
}

TEST(ExecutionSpec, ComesBackAsItWasWritten) {
  ExecutionSpec spec = spec_of({"sh", "-c", "echo \"ä\"\n\t", ""});
  spec.cwd = "a b";
  spec.env_names = {"A", "B"};
  spec.timeout = std::chrono::milliseconds(1);
  spec.has_input = true;
  const auto read = execution_spec_from_json(to_json(spec));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->machine, spec.machine);
  EXPECT_EQ(read->command, spec.command);
  EXPECT_EQ(read->cwd, spec.cwd);
  EXPECT_EQ(read->env_names, spec.env_names);
  EXPECT_EQ(read->timeout, spec.timeout);
  EXPECT_TRUE(read->has_input);
  EXPECT_FALSE(execution_spec_from_json(to_json(spec_of({"true"})))->has_input);
}

TEST(ExecutionSpec, AnythingElseIsAnError) {
  for (const char* text :
       {"", "[]", "{}", R"({"machine":"x","command":["a"],"cwd":"","env_names":[],"timeout_ms":1})",
        R"({"machine":"dm-0192f0a1-7c1e-7000-8000-000000000002","command":["a"],"cwd":"","env_names":[],)"
        R"("timeout_ms":1,"has_input":1})"}) {
    EXPECT_FALSE(execution_spec_from_json(text).has_value()) << text;
  }
}

TEST(ExecutionEnvironment, ComesBackAsItWasWritten) {
  const Environment environment = {{"A", ""}, {"B", "x=\"y\"\n"}};
  EXPECT_EQ(environment_from_json(to_json(environment)).value(), environment);
  EXPECT_EQ(environment_from_json(to_json(Environment())).value(), Environment());
  for (const char* text :
       {"", "{}", "[1]", R"([["QQ=="]])", R"([["QQ==","QQ==","QQ=="]])", R"([["!","QQ=="]])"}) {
    EXPECT_FALSE(environment_from_json(text).has_value()) << text;
  }
}

TEST(ExecutionEnvironment, IsBoundedWhateverItsBytesAre) {
  Environment environment;
  const std::size_t each = kEnvBytesMax / kEnvNamesMax - 2 - 3;
  for (std::size_t i = 0; i < kEnvNamesMax; ++i)
    environment.emplace_back(std::to_string(100 + i), std::string(each, '\x01'));
  EXPECT_LE(to_json(environment).size(), kEnvJsonMax);
}

TEST(ExecutionResults, ComeBackAsTheyWereWritten) {
  const ExecutionResult results[] = {
      {.exit_code = 3, .signal = {}, .stdout_bytes = 5'000'000'000, .stdout_truncated = true},
      {.exit_code = {}, .signal = 9, .stderr_bytes = 1, .stderr_truncated = false},
      {},
  };
  for (const ExecutionResult& result : results) {
    const auto read = execution_result_from_json(to_json(result));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->exit_code, result.exit_code);
    EXPECT_EQ(read->signal, result.signal);
    EXPECT_EQ(read->stdout_bytes, result.stdout_bytes);
    EXPECT_EQ(read->stderr_bytes, result.stderr_bytes);
    EXPECT_EQ(read->stdout_truncated, result.stdout_truncated);
    EXPECT_EQ(read->stderr_truncated, result.stderr_truncated);
  }
  EXPECT_FALSE(execution_result_from_json("{}").has_value());
}

TEST(ExecutionOutput, TextTravelsAsItIsAndOtherBytesAsBase64) {
  EXPECT_EQ(Json::parse(output_event_data("ä\n\x1b[0m")), Json({{"chunk", "ä\n\x1b[0m"}}));
  EXPECT_EQ(Json::parse(output_event_data("\xff\x00")), Json({{"chunk", "/w=="}, {"encoding", "base64"}}));
}

TEST(ExecutionOutput, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& bytes : {std::string(), all, all.substr(0, 128), std::string("\0", 1)}) {
    EXPECT_EQ(output_bytes(output_event_data(bytes)).value(), bytes);
  }
  for (const char* data : {"", "{}", R"({"chunk":7})", R"({"chunk":"!","encoding":"base64"})",
                           R"({"chunk":"AA==","encoding":"hex"})"}) {
    EXPECT_FALSE(output_bytes(data).has_value()) << data;
  }
}

TEST(ExecutionResource, AlwaysHasItsFirstSixMembersAndNoneThatIsAbsent) {
  EXPECT_EQ(shown(job_in(JobStatus::kQueued)),
            Json::parse(R"({"execution_id":"exec-01932b6c-8a00-7000-8000-000000000001",
                "machine_id":"dm-01932b6c-8a00-7000-8000-000000000001","status":"queued","command":["true"],
                "created_at":"2023-11-14T22:13:20.000Z","log_capture":{}})"));
}

TEST(ExecutionResource, ShowsNamesOfVariablesAndNeverTheInput) {
  ExecutionSpec spec = spec_of({"cat", "-"});
  spec.env_names = {"A", "B"};
  spec.cwd = "/tmp";
  const Json out = shown(job_in(JobStatus::kRunning), {}, spec);
  EXPECT_EQ(out["env_keys"], Json({"A", "B"}));
  EXPECT_EQ(out["cwd"], "/tmp");
  EXPECT_EQ(out["started_at"], "2023-11-14T22:13:21.000Z");
  EXPECT_FALSE(out.contains("stdin"));
  EXPECT_FALSE(out.contains("stdout_bytes"));
}

TEST(ExecutionResource, ASuccessHasItsSizes) {
  const ExecutionResult result{.exit_code = 0,
                               .signal = {},
                               .stdout_bytes = 7,
                               .stderr_bytes = 2,
                               .stdout_truncated = false,
                               .stderr_truncated = true};
  const Json out = shown(job_in(JobStatus::kSucceeded), result);
  EXPECT_EQ(out["status"], "succeeded");
  EXPECT_EQ(out["exit_code"], 0);
  EXPECT_EQ(out["stdout_bytes"], 7);
  EXPECT_EQ(out["stderr_truncated"], true);
  EXPECT_EQ(out["artifacts"], Json::array());
  EXPECT_EQ(out["completed_at"], "2023-11-14T22:13:22.000Z");
  EXPECT_EQ(out["expires_at"], "2023-11-21T22:13:22.000Z");
  EXPECT_FALSE(out.contains("error_code"));
  EXPECT_FALSE(out.contains("signal"));
}

TEST(ExecutionResource, ACommandsOwnFailureHasNoErrorCode) {
  const JobError error{Code::kCommandFailed, "exit code 3"};
  const Json exited = shown(job_in(JobStatus::kFailed, error), ExecutionResult{.exit_code = 3, .signal = {}});
  EXPECT_EQ(exited["exit_code"], 3);
  EXPECT_FALSE(exited.contains("error_code"));
  EXPECT_FALSE(exited.contains("signal"));
  const Json killed = shown(job_in(JobStatus::kFailed, error), ExecutionResult{.exit_code = {}, .signal = 9});
  EXPECT_EQ(killed["signal"], 9);
  EXPECT_FALSE(killed.contains("exit_code"));
  EXPECT_FALSE(killed.contains("error_code"));
}

TEST(ExecutionResource, AFailureOfOursHasAnErrorCodeAndNoExitCode) {
  const std::pair<Code, std::string> table[] = {
      {Code::kExecutionPrepareFailed, "execution_runner_prepare_failed"},
      {Code::kHostAgentFailed, "host_agent_execute_failed"},
      {Code::kMachineNotFound, "machine_not_found"},
      {Code::kMachineNotRoutable, "machine_not_routable"},
      {Code::kMachineWakeFailed, "machine_wake_failed"},
      {Code::kWorkerLost, "worker_lost"},
      {Code::kInternal, "host_agent_execute_failed"},
  };
  for (const auto& [code, name] : table) {
    const Json out = shown(job_in(JobStatus::kFailed, JobError{code, "why"}),
                           ExecutionResult{.exit_code = 1, .signal = {}});
    EXPECT_EQ(out["error_code"], name);
    EXPECT_EQ(out["error_message"], "why");
    EXPECT_FALSE(out.contains("exit_code"));
    EXPECT_EQ(out["stdout_bytes"], 0);
  }
}

TEST(ExecutionResource, ALimitOfTheMachineIsAnErrorBesideTheEnd) {
  for (const char* name : {"out_of_memory", "out_of_disk", "process_limit", "cpu_time_exceeded"}) {
    const JobView job = job_in(JobStatus::kFailed, JobError{base::code_named(name), "why"});
    const Json killed = shown(job, ExecutionResult{.exit_code = {}, .signal = 9});
    EXPECT_EQ(killed["error_code"], name);
    EXPECT_EQ(killed["error_message"], "why");
    EXPECT_EQ(killed["signal"], 9);
    EXPECT_EQ(shown(job, ExecutionResult{.exit_code = 2, .signal = {}})["exit_code"], 2);
  }
}

TEST(ExecutionResource, AnExpiredOneTimedOutOrNeverStarted) {
  const JobError timed_out{Code::kExecutionTimedOut, "stopped after 1 s"};
  EXPECT_EQ(shown(job_in(JobStatus::kExpired, timed_out))["error_code"], "execution_timed_out");
  EXPECT_EQ(shown(job_in(JobStatus::kExpired, timed_out))["error_message"], "stopped after 1 s");
  const Json never = shown(job_in(JobStatus::kExpired));
  EXPECT_EQ(never["error_code"], "execution_not_started");
  EXPECT_EQ(never["stderr_truncated"], false);
}

TEST(ExecutionResource, ACancelledOneHasNeitherErrorNorCode) {
  const Json out =
      shown(job_in(JobStatus::kCancelled), ExecutionResult{.exit_code = {}, .signal = {}, .stdout_bytes = 4});
  EXPECT_EQ(out["status"], "cancelled");
  EXPECT_EQ(out["stdout_bytes"], 4);
  for (const char* absent : {"error_code", "exit_code", "signal"})
    EXPECT_FALSE(out.contains(absent)) << absent;
}

TEST(ExecutionResource, OneThatWaitsForItsMachineSaysHowLongToWait) {
  JobView job = job_in(JobStatus::kQueued);
  EXPECT_FALSE(shown(job).contains("retry_after_ms"));
  job.waking = true;
  EXPECT_EQ(shown(job)["status"], "wake_in_progress");
  EXPECT_EQ(shown(job)["retry_after_ms"], 1000);
}

TEST(ExecutionResource, AScheduledOneIsQueuedWithItsTime) {
  JobView job = job_in(JobStatus::kQueued);
  job.scheduled = true;
  job.run_at = base::wall_from(1'738'310'400'000);
  EXPECT_EQ(shown(job)["status"], "queued");
  EXPECT_EQ(shown(job)["run_at"], "2025-01-31T08:00:00.000Z");
}

TEST(ExecutionResource, NamesTheFilesThatItHasLeft) {
  const Json out = shown(job_in(JobStatus::kSucceeded), {}, spec_of({"true"}), {{kMachine, "a \"b\"/c"}});
  EXPECT_EQ(
      out["artifacts"],
      Json::parse(R"([{"artifact_id":"art-01932b6c-8a00-7000-8000-000000000001","name":"a \"b\"/c"}])"));
  EXPECT_FALSE(shown(job_in(JobStatus::kRunning)).contains("artifacts"));
}

}  // namespace
}  // namespace millrace::schemas::execution_test
