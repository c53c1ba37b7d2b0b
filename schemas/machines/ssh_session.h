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

// The state of a worker's SSH listener for a machine.
enum class SshListenerState : std::uint8_t {
  kActive,  // the machine is awake, and this worker owns its endpoint
  kNotYet,  // the machine is awake without an endpoint: the act that opens it may be running here
  kOver,    // the machine is not awake, or another live worker owns its endpoint: the listener must close
};

// SSH sessions (docs/design/http-contract.md §2).

enum class SshStatus : std::uint8_t { kWaking = 0, kReady = 1, kClosed = 2, kFailed = 3, kExpired = 4 };
std::string_view name(SshStatus status);  // "wake_in_progress", "ready", …

// How a client connects, and how it verifies the host.
struct SshConnection {
  std::string endpoint;
  int port = 22;
  std::string username;
  std::string host_pattern;  // of the @cert-authority line: "[127.0.0.1]:2201", or the bare name on port 22
  std::string host_ca;       // "ssh-ed25519 AAAA…"
  std::string certificate;   // the user's certificate, one line
};

struct SshSession {
  base::Uuid id;
  std::string tenant;
  base::Uuid machine;
  SshStatus status = SshStatus::kWaking;  // kExpired is not stored: it follows from expires_at
  std::string public_key;                 // the line from the request, trimmed
  std::int64_t serial = 0;                // of the certificate: unique in this store, increasing
  std::optional<SshConnection> connection;
  base::WallTime created_at{};
  base::WallTime expires_at{};  // of the certificate; while the machine wakes, of the request
  std::optional<base::WallTime> ready_at, closed_at;
  std::optional<JobError> error;
};

// "ssh-" and a lower-case UUID.
std::optional<base::Uuid> ssh_session_id_from(std::string_view text);
std::string ssh_session_id(const base::Uuid& id);

inline constexpr std::size_t kPublicKeyMax = 16 * 1024;  // bytes; an RSA key of 16,384 bits has 2.8 KB

struct SshRequest {
  std::string public_key;
};
// Checks only that it is a string of 1 to kPublicKeyMax bytes; machines/keys/public_key.h parses the key.
tl::expected<SshRequest, Refusal> parse_ssh_request(std::string& body);
std::span<const Field> ssh_request_fields();

// The session resource as JSON text, as of `now`.
std::string ssh_session_json(const SshSession& session, base::WallTime now);

// How long a client should wait after "wake_in_progress" before it polls again; sent in bodies and headers.
// It is also sent while only the machine's sshd is being opened, which has no separate status. Clients poll
// 120 times, and a wake, or the worker that opens the sshd, may need all of that time.
inline constexpr int kWakeRetryAfterMs = 1000;

}  // namespace millrace::schemas
