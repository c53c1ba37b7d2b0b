#include <filesystem>

#include <gtest/gtest.h>

#include "platform/base/base64.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using nlohmann::json;

// SSH sessions through HTTP. The test acts as the worker of their machines.
class SshSessionsApi : public Served {
 protected:
  void begin(Options options = {}) {
    start(std::move(options));
    root_ = "/v1/machines/" + ssh_machine("build-1", 2222) + "/ssh";
  }
  Answer create(std::string key = {}) {
    return create_with(json{{"public_key", line_}}.dump(), std::move(key));
  }
  Answer create_with(const std::string& body, std::string key = {}) {
    if (key.empty()) key = "k" + std::to_string(++keys_);
    return post(root_, body, "Idempotency-Key: " + key + "\r\n");
  }
  std::string path_of(const Answer& made) { return root_ + "/" + made.json().value("session_id", ""); }

  const std::string line_ = machines::make_key_pair().public_key.line();
  std::string root_;
  int keys_ = 0;
};

TEST_F(SshSessionsApi, OneOfAMachineThatIsReadyHasItsConnectionAtOnce) {
  begin();
  const Answer made = create();
  ASSERT_EQ(made.status, 200) << made.body;
  const json session = made.json();
  EXPECT_EQ(session["status"], "ready");
  EXPECT_TRUE(session.contains("ready_at"));
  const json& connection = session["connection"];
  EXPECT_EQ(connection["endpoint"], "build-1");
  EXPECT_EQ(connection["port"], 2222);
  EXPECT_EQ(connection["ssh_username"], "ci");
  EXPECT_EQ(connection["host_trust"]["kind"], "cert_authority");
  EXPECT_EQ(connection["host_trust"]["host_pattern"], "[build-1]:2222");
  EXPECT_EQ(connection["host_trust"]["public_key"], authority->host_ca());
  const std::string certificate = connection["user_certificate"];
  EXPECT_EQ(certificate.find("ssh-ed25519-cert-v01@openssh.com AAAA"), 0u);
  EXPECT_FALSE(made.has("retry-after-ms"));
  EXPECT_EQ(get(path_of(made)).json(), session);
}

TEST_F(SshSessionsApi, TheCertificateIsGoodForItsMachineAlone) {
  start();
  for (const char* host : {"build-1", "build-2"}) {
    const std::string machine = ssh_machine(host, 22);
    root_ = "/v1/machines/" + machine + "/ssh";
    const std::string line = create().json()["connection"]["user_certificate"];
    const auto blob = base::base64_decode(line.substr(line.find(' ') + 1));
    ASSERT_TRUE(blob);
    const auto of_one = [](const std::string& text) {  // as the only string in the list of principals
      const std::string size(1, static_cast<char>(text.size()));
      return std::string(3, '\0') + static_cast<char>(text.size() + 4) + std::string(3, '\0') + size + text;
    };
    EXPECT_NE(blob->find(of_one(machine)), std::string::npos);
    EXPECT_EQ(blob->find(of_one("ci")), std::string::npos)
        << "the user has the same name on both machines, so it is not a principal";
  }
}

TEST_F(SshSessionsApi, TheNameOfAHostOnPort22StandsBare) {
  start();
  root_ = "/v1/machines/" + ssh_machine("build-2", 22) + "/ssh";
  EXPECT_EQ(create().json()["connection"]["host_trust"]["host_pattern"], "build-2");
}

TEST_F(SshSessionsApi, OneOfAMachineThatSleepsWaitsForItAndThenItsSshd) {
  start();
  root_ = "/v1/machines/" + new_machine() + "/ssh";
  const Answer made = create();
  EXPECT_EQ(made.json()["status"], "wake_in_progress");
  EXPECT_EQ(made.json()["retry_after_ms"], 1000);
  EXPECT_EQ(made.header("retry-after-ms"), "1000");
  EXPECT_FALSE(made.json().contains("connection"));
  const std::string path = path_of(made);
  EXPECT_EQ(act(), "wake");
  EXPECT_EQ(get(path).header("retry-after-ms"), "1000");
  EXPECT_EQ(act(), "open_ssh");
}

TEST_F(SshSessionsApi, OneWhoseMachineDoesNotWakeFails) {
  start();
  root_ = "/v1/machines/" + new_machine() + "/ssh";
  const std::string path = path_of(create());
  fail_act(base::Code::kMachineWakeFailed, "its probe did not answer");
  const json session = get(path).json();
  EXPECT_EQ(session["status"], "failed");
  EXPECT_EQ(session["error_code"], "machine_wake_failed");
}

TEST_F(SshSessionsApi, WithoutAnIdempotencyKeyNothingIsMade) {
  begin();
  const Answer answer = post(root_, json{{"public_key", line_}}.dump());
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_NE(answer.json()["detail"].get<std::string>().find("Idempotency-Key"), std::string::npos);
  EXPECT_EQ(get(root_).json()["items"].size(), 0u);
}

TEST_F(SshSessionsApi, ARepeatedRequestGetsItsFirstReply) {
  begin();
  const Answer first = create("once"), again = create("once");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("idempotent-replayed"), "true");
  EXPECT_EQ(get(root_).json()["items"].size(), 1u);
  EXPECT_EQ(create_with(json{{"public_key", line_ + " me@laptop"}}.dump(), "once").status, 409);
}

TEST_F(SshSessionsApi, AKeyThatIsNotTakenIsAProblemThatSaysWhy) {
  begin();
  const std::string cut = line_.substr(0, line_.size() - 8);
  for (const std::string& key :
       {std::string("x"), cut, line_ + "\n" + line_, "command=\"id\" " + line_,
        std::string("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA"), std::string(65'536, 'A'), std::string()}) {
    const Answer refused = create_with(json{{"public_key", key}}.dump());
    EXPECT_EQ(refused.status, 422) << key.substr(0, 40) << refused.body;
    EXPECT_EQ(refused.header("content-type"), "application/problem+json");
    EXPECT_EQ(refused.json()["errors"][0]["location"], "body.public_key") << refused.body;
  }
  EXPECT_EQ(create_with("{}").status, 422);
  EXPECT_EQ(create_with(json{{"public_key", line_}, {"ttl", 5}}.dump()).status, 422);
  EXPECT_EQ(create_with("{").status, 400);
  EXPECT_EQ(get(root_).json()["items"].size(), 0u);
}

TEST_F(SshSessionsApi, AClosedOneIsOnTheRevocationListBeforeTheReply) {
  begin();
  const std::string path = path_of(create());
  const auto list = std::filesystem::path(folder.str()) / "ca" / "revoked.krl";
  const Answer closed = remove(path);
  ASSERT_EQ(closed.status, 200) << closed.body;
  EXPECT_EQ(closed.json()["status"], "closed");
  EXPECT_FALSE(closed.json().contains("connection"));
  EXPECT_TRUE(std::filesystem::exists(list));
  EXPECT_EQ(get(path).json()["status"], "closed");
  EXPECT_EQ(remove(path).json()["status"], "closed");
}

TEST_F(SshSessionsApi, AreListedNewestFirstInPages) {
  begin();
  const json first = create().json(), second = create().json();
  const json page = get(root_ + "?limit=1").json();
  ASSERT_EQ(page["items"].size(), 1u);
  EXPECT_EQ(page["items"][0], second);
  const json rest = get(root_ + "?cursor=" + page["next_cursor"].get<std::string>()).json();
  EXPECT_EQ(rest["items"], json::array({first}));
  EXPECT_FALSE(rest.contains("next_cursor"));
}

TEST_F(SshSessionsApi, AreThoseOfTheirMachineAndTenantAlone) {
  begin();
  const Answer made = create();
  const std::string id = made.json()["session_id"], unknown_client = key(schemas::ScopeSet::all(), "other");
  const std::string neighbour = "/v1/machines/" + machine() + "/ssh/" + id;
  for (const std::string& path :
       {neighbour, root_ + "/ssh-x", root_ + "/ssh-01932b6c-8a00-7000-8000-000000000001"}) {
    EXPECT_EQ(get(path).status, 404) << path;
    EXPECT_EQ(remove(path).status, 404) << path;
  }
  EXPECT_EQ(send({.path = root_ + "/" + id, .key = unknown_client}).status, 404);
  EXPECT_EQ(send({.path = root_, .key = unknown_client}).status, 404);
  EXPECT_EQ(send({.method = "DELETE", .path = root_ + "/" + id, .key = unknown_client}).status, 404);
  const Answer foreign = send({.method = "POST",
                               .path = root_,
                               .key = unknown_client,
                               .headers = "Idempotency-Key: k\r\n",
                               .body = json{{"public_key", line_}}.dump()});
  EXPECT_EQ(foreign.status, 404);
  EXPECT_EQ(get(root_ + "/" + id).json()["status"], "ready");
}

TEST_F(SshSessionsApi, NeedTheirScope) {
  begin();
  const std::string reader = key({schemas::Scope::kExecRead, schemas::Scope::kExecRun});
  const Answer refused = send({.path = root_, .key = reader});
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.json()["error_code"], "AUTH_SCOPE_FORBIDDEN");
}

TEST_F(SshSessionsApi, WithoutAnAuthorityThereAreNone) {
  authority = nullptr;
  begin();
  const Answer refused = create();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.json()["error_code"], "DEPENDENCY_UNAVAILABLE");
  EXPECT_EQ(get(root_).status, 200);
}

}  // namespace
}  // namespace millrace::api::test
