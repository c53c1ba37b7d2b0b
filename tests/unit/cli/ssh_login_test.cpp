#include "app/cli/machines/ssh_login.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

json session() {
  return json::parse(R"({"session_id": "ssh-1", "status": "ready", "connection": {
    "endpoint": "127.0.0.1", "port": 2201, "ssh_username": "machine",
    "host_trust": {"kind": "cert_authority", "host_pattern": "[127.0.0.1]:2201", "public_key": "ssh-ed25519 AAAAhost"},
    "user_certificate": "ssh-ed25519-cert-v01@openssh.com AAAAuser"}})");
}

const SshFiles kFiles{"/run/d/id", "/run/d/id-cert.pub", "/run/d/known_hosts"};

std::vector<std::string> words(std::vector<std::string> options = {}, std::vector<std::string> command = {}) {
  return ssh_command_line("/usr/bin/ssh", login_of(session()).value(), kFiles, {options}, command);
}

TEST(SshAccess, IsReadFromAReadySession) {
  const auto login = login_of(session());
  ASSERT_TRUE(login) << login.error().message;
  EXPECT_EQ(login->endpoint, "127.0.0.1");
  EXPECT_EQ(login->port, 2201);
  EXPECT_EQ(login->user, "machine");
  EXPECT_EQ(known_hosts(*login), "@cert-authority [127.0.0.1]:2201 ssh-ed25519 AAAAhost\n");
  EXPECT_EQ(login->certificate, "ssh-ed25519-cert-v01@openssh.com AAAAuser");
}

TEST(SshAccess, NothingOfAnAnswerBecomesAnOptionOrAnotherLine) {
  const auto said = [](const char* pointer, const json& value) {
    json wrong = session();
    wrong[json::json_pointer(pointer)] = value;
    const auto login = login_of(wrong);
    return login ? "it was taken" : login.error().message;
  };
  EXPECT_THAT(said("/connection/endpoint", "-oProxyCommand=x"), HasSubstr("`endpoint`"));
  EXPECT_THAT(said("/connection/endpoint", "a b"), HasSubstr("`endpoint`"));
  EXPECT_THAT(said("/connection/port", 0), HasSubstr("`port`"));
  EXPECT_THAT(said("/connection/port", "22"), HasSubstr("`port`"));
  EXPECT_THAT(said("/connection/ssh_username", "-l"), HasSubstr("`ssh_username`"));
  EXPECT_THAT(said("/connection/ssh_username", "a@b"), HasSubstr("`ssh_username`"));
  EXPECT_THAT(said("/connection/host_trust/kind", "none"), HasSubstr("`host_trust`"));
  EXPECT_THAT(said("/connection/host_trust/host_pattern", "a\n*"), HasSubstr("`host_pattern`"));
  EXPECT_THAT(said("/connection/host_trust/public_key", "ssh-ed25519 A\n* ssh-ed25519 B"),
              HasSubstr("host authority"));
  EXPECT_THAT(said("/connection/user_certificate", 5), HasSubstr("`user_certificate`"));
  EXPECT_THAT(said("/connection", json()), HasSubstr("no usable"));
  EXPECT_FALSE(login_of(json{{"status", "closed"}}));
}

TEST(SshAccess, SshKnowsThisHostAndThisKeyAlone) {
  const auto line = words();
  EXPECT_EQ(line[0], "/usr/bin/ssh");
  EXPECT_EQ(line[1] + " " + line[2], "-F none");
  for (const char* option :
       {"StrictHostKeyChecking=yes", "GlobalKnownHostsFile=/dev/null", "IdentitiesOnly=yes",
        "IdentityAgent=none", "UserKnownHostsFile=\"/run/d/known_hosts\"", "IdentityFile=\"/run/d/id\"",
        "CertificateFile=\"/run/d/id-cert.pub\""}) {
    EXPECT_THAT(line, Contains(option));
  }
  EXPECT_EQ(line.back(), "machine@127.0.0.1");
  EXPECT_EQ(line[line.size() - 2], "--");
  EXPECT_EQ(line[line.size() - 3], "2201");
}

TEST(SshAccess, WhatIsAskedForStandsBehindWhatIsFixed) {
  const auto line = words({"StrictHostKeyChecking=no"}, {"-v", "id"});
  const auto fixed = std::ranges::find(line, "StrictHostKeyChecking=yes");
  const auto asked = std::ranges::find(line, "StrictHostKeyChecking=no");
  EXPECT_LT(fixed, asked);
  EXPECT_NE(asked, line.end());
  EXPECT_EQ(line[line.size() - 3] + " " + line[line.size() - 2] + " " + line.back(),
            "machine@127.0.0.1 -v id");
}

}  // namespace
}  // namespace millrace::cli
