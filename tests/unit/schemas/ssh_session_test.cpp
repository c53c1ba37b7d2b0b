#include "schemas/machines/ssh_session.h"

#include <gtest/gtest.h>

namespace millrace::schemas::ssh_session_test {
namespace {

using base::Code;
using schemas::Json;

const base::Uuid kId = *base::Uuid::parse("01932b6c-8a00-7000-8000-000000000001");
const base::WallTime kNow = base::wall_from(1'700'000'000'000);
constexpr std::chrono::minutes kLifetime{15};

SshSession session_in(SshStatus status) {
  SshSession session;
  session.id = kId;
  session.machine = kId;
  session.status = status;
  session.public_key = "ssh-ed25519 AAAA";
  session.created_at = kNow;
  session.expires_at = kNow + kLifetime;
  return session;
}

SshSession with_certificate(SshStatus status) {
  SshSession session = session_in(status);
  session.ready_at = kNow;
  session.connection = SshConnection{.endpoint = "127.0.0.1",
                                     .port = 2201,
                                     .username = "millrace",
                                     .host_pattern = "[127.0.0.1]:2201",
                                     .host_ca = "ssh-ed25519 BBBB",
                                     .certificate = "ssh-ed25519-cert-v01@openssh.com CCCC"};
  return session;
}

Json shown(const SshSession& session, base::WallTime now = kNow) {
  return Json::parse(ssh_session_json(session, now));
}

tl::expected<SshRequest, Refusal> parse(std::string body) {
  body.reserve(body.size() + kJsonPadding);
  return parse_ssh_request(body);
}

TEST(SshSession, AnIdIsItsPrefixAndALowerCaseUuid) {
  EXPECT_EQ(ssh_session_id(kId), "ssh-01932b6c-8a00-7000-8000-000000000001");
  EXPECT_EQ(ssh_session_id_from(ssh_session_id(kId)), kId);
  for (const char* text :
       {"", "ssh-", "art-01932b6c-8a00-7000-8000-000000000001", "ssh-01932B6C-8A00-7000-8000-000000000001"}) {
    EXPECT_FALSE(ssh_session_id_from(text)) << text;
  }
}

TEST(SshSession, OneThatIsReadySaysHowToGetIn) {
  const Json expected = {{"session_id", "ssh-01932b6c-8a00-7000-8000-000000000001"},
                         {"machine_id", "dm-01932b6c-8a00-7000-8000-000000000001"},
                         {"status", "ready"},
                         {"created_at", "2023-11-14T22:13:20.000Z"},
                         {"expires_at", "2023-11-14T22:28:20.000Z"},
                         {"ready_at", "2023-11-14T22:13:20.000Z"},
                         {"connection",
                          {{"endpoint", "127.0.0.1"},
                           {"port", 2201},
                           {"ssh_username", "millrace"},
                           {"host_trust",
                            {{"kind", "cert_authority"},
                             {"host_pattern", "[127.0.0.1]:2201"},
                             {"public_key", "ssh-ed25519 BBBB"}}},
                           {"user_certificate", "ssh-ed25519-cert-v01@openssh.com CCCC"}}}};
  EXPECT_EQ(shown(with_certificate(SshStatus::kReady)), expected);
}

TEST(SshSession, OneThatWaitsSaysWhenToAskAgain) {
  const Json waiting = shown(session_in(SshStatus::kWaking));
  EXPECT_EQ(waiting["status"], "wake_in_progress");
  EXPECT_EQ(waiting["retry_after_ms"], kWakeRetryAfterMs);
  EXPECT_FALSE(waiting.contains("connection") || waiting.contains("ready_at"));
}

TEST(SshSession, AnOpenOneIsExpiredFromItsTimeOn) {
  for (const SshSession& open : {session_in(SshStatus::kWaking), with_certificate(SshStatus::kReady)}) {
    EXPECT_NE(shown(open, open.expires_at - std::chrono::milliseconds(1))["status"], "expired");
    const Json over = shown(open, open.expires_at);
    EXPECT_EQ(over["status"], "expired");
    EXPECT_FALSE(over.contains("connection") || over.contains("retry_after_ms"));
  }
  EXPECT_EQ(shown(with_certificate(SshStatus::kClosed), kNow + kLifetime)["status"], "closed");
  EXPECT_EQ(shown(session_in(SshStatus::kFailed), kNow + kLifetime)["status"], "failed");
}

TEST(SshSession, AClosedOneGrantsNoLogin) {
  const Json closed = shown(with_certificate(SshStatus::kClosed));
  EXPECT_EQ(closed["status"], "closed");
  EXPECT_FALSE(closed.contains("connection"));
}

TEST(SshSession, AFailedOneSaysWhy) {
  SshSession session = session_in(SshStatus::kFailed);
  session.error = JobError{Code::kMachineWakeFailed, "it did not answer"};
  const Json failed = shown(session);
  EXPECT_EQ(failed["error_code"], "machine_wake_failed");
  EXPECT_EQ(failed["error_message"], "it did not answer");
}

TEST(SshRequest, IsAKey) {
  const auto request = parse(R"({"public_key":"ssh-ed25519 AAAA me"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->public_key, "ssh-ed25519 AAAA me");
  EXPECT_EQ(parse(R"({"public_key":")" + std::string(kPublicKeyMax, 'a') + "\"}")->public_key.size(),
            kPublicKeyMax);
}

TEST(SshRequest, OfAnotherShapeIsRefusedWithItsPlace) {
  const auto problem = [](const std::string& body) {
    const auto refused = parse(body);
    if (refused || refused.error().problems.size() != 1) return std::string("not refused once");
    return refused.error().problems[0].loc.back() + " " + refused.error().problems[0].type;
  };
  EXPECT_EQ(problem("{}"), "public_key missing");
  EXPECT_EQ(problem(""), "public_key missing");
  EXPECT_EQ(problem(R"({"public_key":null})"), "public_key missing");
  EXPECT_EQ(problem(R"({"public_key":7})"), "public_key string_type");
  EXPECT_EQ(problem(R"({"public_key":""})"), "public_key string_too_short");
  EXPECT_EQ(problem(R"({"public_key":")" + std::string(kPublicKeyMax + 1, 'a') + "\"}"),
            "public_key string_too_long");
  EXPECT_EQ(problem(R"({"public_key":"k","ttl":5})"), "ttl extra_forbidden");
  EXPECT_EQ(parse("[").error().error.code, Code::kBadRequest);
}

}  // namespace
}  // namespace millrace::schemas::ssh_session_test
