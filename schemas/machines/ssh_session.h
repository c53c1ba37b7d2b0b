#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/jobs/job.h"

namespace millrace::schemas {

// What becomes of a worker's listener for the SSH of a machine.
enum class SshListenerState : std::uint8_t {
  kServes,  // the machine is awake, and its endpoint is this worker's
  kNotYet,  // awake, and nobody's: the act that opens it may be under way here
  kOver,    // it is not awake, or a worker that lives has its endpoint: the listener ends
};

// SSH sessions (docs/design/http-contract.md §2).

enum class SshStatus : std::uint8_t { kWaking = 0, kReady = 1, kClosed = 2, kFailed = 3, kExpired = 4 };
std::string_view name(SshStatus status);  // "wake_in_progress", "ready", …

// How a client gets in, and how it knows the host.
struct SshConnection {
  std::string endpoint;
  int port = 22;
  std::string username;
  std::string host_pattern;  // of the @cert-authority line: "[127.0.0.1]:2201", or the bare name on port 22
  std::string host_ca;       // "ssh-ed25519 AAAA…"
  std::string certificate;   // one line of the user's certificate
};

struct SshSession {
  base::Uuid id;
  std::string tenant;
  base::Uuid machine;
  SshStatus status = SshStatus::kWaking;  // kExpired is not stored: it follows from expires_at
  std::string public_key;                 // the line as it was sent, trimmed
  std::int64_t serial = 0;                // of the certificate: unique in this store, rising
  std::optional<SshConnection> connection;
  base::WallTime created_at{};
  base::WallTime expires_at{};  // of the certificate; while it wakes: of the wish
  std::optional<base::WallTime> ready_at, closed_at;
  std::optional<JobError> error;
};

// "ssh-" and a lower-case UUID.
std::optional<base::Uuid> ssh_session_id_from(std::string_view text);
std::string ssh_session_id(const base::Uuid& id);

inline constexpr std::size_t kPublicKeyMax = 16 * 1024;  // of the line; an RSA key of 16,384 bits has 2.8 KB

struct SshRequest {
  std::string public_key;
};
// Shape only (a string of 1 to kPublicKeyMax bytes): machines/keys/public_key.h reads the key.
tl::expected<SshRequest, Refusal> parse_ssh_request(std::string& body);
std::span<const Field> ssh_request_fields();

// The session resource as JSON text, as of `now`.
std::string ssh_session_json(const SshSession& session, base::WallTime now);

// What whoever is told "wake_in_progress" is to wait before the next look, in bodies and headers; also where
// only the machine's sshd opens, for which there is no status of its own: clients look 120 times, and a wake,
// or the worker that opens it, may need all of that.
inline constexpr int kWakeRetryAfterMs = 1000;

}  // namespace millrace::schemas
