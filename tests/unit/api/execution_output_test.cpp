#include "tests/unit/api/executions.h"

namespace millrace::api::test {
namespace {

using base::Code;
using nlohmann::json;

constexpr const char* kStream = "Accept: text/event-stream\r\n";

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

TEST_F(Executions, EventsReportStatusesAndOutputInOrder) {
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

TEST_F(Executions, AWarningIsALifecycleEventWithItsMessage) {
  begin();
  const std::string path = root_ + "/" + make();
  append_events(lease(), {{.type = "warning", .data = R"({"message":"3 \"files\" were left out"})"}});
  const json events = get(path + "/events?after=1").json()["items"];
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[0].contains("message"));
  EXPECT_EQ(events[1]["type"], "lifecycle");
  EXPECT_EQ(events[1].value("message", ""), "3 \"files\" were left out");
  EXPECT_FALSE(events[1].contains("status"));
}

TEST_F(Executions, SizesOfACommandWhoseWorkerWasLostAreThoseOfWhatWasKept) {
  begin();
  const std::string id = make(R"({"command":["true"],"retry_on_worker_loss":true})");
  const std::string path = root_ + "/" + id;
  const auto first = lease();
  out(first, "of another run");
  release(first);
  const auto held = lease();
  out(held, "12345");
  out(held, "\xff\xff", "stderr");
  out(held, "6");
  EXPECT_FALSE(execution(id).contains("stdout_bytes"));
  fail(held, Code::kWorkerLost, "the worker was lost");
  const json listed = get(root_).json()["items"][0];
  for (const json& sizes : {execution(id), get(path + "/output").json(), listed,
                            get("/v1/jobs/" + id + "/result").json(), remove(path).json()}) {
    EXPECT_EQ(sizes["stdout_bytes"], 6) << sizes;
    EXPECT_EQ(sizes["stderr_bytes"], 2) << sizes;
    EXPECT_EQ(sizes["stdout_truncated"], false) << sizes;
  }
}

TEST_F(Executions, EventsThatAreTooManyForAPageEndItEarly) {
  begin();
  const std::string path = root_ + "/" + make() + "/events";
  const auto held = lease();
  const std::string piece(200'000, 'x');
  for (int i = 0; i < 30; ++i) out(held, piece);
  std::size_t seen = 0, pages = 0;
  for (std::string cursor = "?limit=200"; !cursor.empty(); ++pages) {
    const Answer answer = get(path + cursor);
    EXPECT_LE(answer.body.size(), std::size_t{4} << 20);
    const json page = answer.json();
    ASSERT_FALSE(page["items"].empty());
    seen += page["items"].size();
    const std::string next = page.value("next_cursor", "");
    cursor = next.empty() ? "" : "?limit=200&cursor=" + next;
  }
  EXPECT_EQ(seen, 32u);
  EXPECT_EQ(pages, 2u);
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

TEST_F(Executions, OutputOfARunWhoseWorkerWasLostIsNotShown) {
  begin();
  const std::string path = root_ + "/" + make(R"({"command":["true"],"retry_on_worker_loss":true})");
  const auto first = lease();
  out(first, "lost");
  release(first);
  const auto second = lease();
  EXPECT_EQ(second.attempt, 2);
  out(second, "kept");
  EXPECT_EQ(get(path + "/output").json()["stdout"], "kept");
  const Answer page = get(path + "/events");
  EXPECT_EQ(page.body.find("lost"), std::string::npos) << page.body;
  EXPECT_NE(page.body.find("kept"), std::string::npos);
  EXPECT_EQ(get(path + "/events?limit=1&after=2").json()["items"][0]["type"], "lifecycle");
}

}  // namespace
}  // namespace millrace::api::test
