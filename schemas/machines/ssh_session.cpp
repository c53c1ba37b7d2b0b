#include "schemas/machines/ssh_session.h"

#include <algorithm>
#include <array>

#include "schemas/admin_request.h"
#include "schemas/json/json_text.h"
#include "schemas/machines/machine.h"
#include "schemas/prefixed_id.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kSessionPrefix = "ssh-";

constexpr std::array kSessionTable{
    Field{.name = "public_key",
          .required = true,
          .text =
              "One line of authorized_keys without options: ed25519, ecdsa, rsa of at least 3072 bits, or "
              "one of their sk- forms",
          .min = 1,
          .max = std::int64_t{kPublicKeyMax},
          .store = &store_in<SshRequest, &SshRequest::public_key>},
};

SshStatus status_at(const SshSession& session, base::WallTime now) {
  const bool open = session.status == SshStatus::kWaking || session.status == SshStatus::kReady;
  return open && session.expires_at <= now ? SshStatus::kExpired : session.status;
}

std::string connection_json(const SshConnection& connection) {
  return JsonObject()
      .member("endpoint", connection.endpoint)
      .number("port", connection.port)
      .member("ssh_username", connection.username)
      .raw("host_trust", JsonObject()
                             .member("kind", "cert_authority")
                             .member("host_pattern", connection.host_pattern)
                             .member("public_key", connection.host_ca)
                             .finish())
      .member("user_certificate", connection.certificate)
      .finish();
}

}  // namespace

std::string_view name(SshStatus status) {
  switch (status) {
    case SshStatus::kWaking:
      return "wake_in_progress";
    case SshStatus::kReady:
      return "ready";
    case SshStatus::kClosed:
      return "closed";
    case SshStatus::kFailed:
      return "failed";
    case SshStatus::kExpired:
      return "expired";
  }
  return {};
}

std::optional<base::Uuid> ssh_session_id_from(std::string_view text) {
  return uuid_after(kSessionPrefix, text);
}

std::string ssh_session_id(const base::Uuid& id) { return prefixed_id(kSessionPrefix, id); }

std::span<const Field> ssh_request_fields() { return kSessionTable; }

tl::expected<SshRequest, Refusal> parse_ssh_request(std::string& body) {
  return read_body<SshRequest>(body, kSessionTable);
}

std::string ssh_session_json(const SshSession& session, base::WallTime now) {
  const SshStatus status = status_at(session, now);
  JsonObject out;
  out.member("session_id", ssh_session_id(session.id))
      .member("machine_id", machine_id(session.machine))
      .member("status", name(status))
      .member("created_at", base::rfc3339(session.created_at))
      .member("expires_at", base::rfc3339(session.expires_at));
  if (session.ready_at) out.member("ready_at", base::rfc3339(*session.ready_at));
  if (status == SshStatus::kReady && session.connection) {
    out.raw("connection", connection_json(*session.connection));
  }
  if (status == SshStatus::kWaking) out.number("retry_after_ms", kWakeRetryAfterMs);
  if (status == SshStatus::kFailed && session.error) {
    out.member("error_code", base::name(session.error->code)).member("error_message", session.error->message);
  }
  return out.finish();
}

}  // namespace millrace::schemas
