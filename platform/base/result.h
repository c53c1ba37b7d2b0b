#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace millrace::base {

// All error codes of Millrace. The table in result.cpp gives each code its HTTP status, its retry class and
// its names in both error bodies (docs/design/http-contract.md §3 and §6). Job errors are stored by
// `name(code)`.
enum class Code {
  kBadRequest,       // malformed framing, JSON or header
  kUnauthenticated,  // no key was sent
  kKeyInvalid,       // unknown, revoked or expired key
  kForbidden,        // key lacks the scope
  kNotFound,         // it does not exist or belongs to another tenant
  kResultExpired,    // the job is known, its result has been removed
  kMethodNotAllowed,
  kMisdirected,  // 421: the Host is not one of this gateway
  kRequestTimeout,
  kIdempotencyReused,  // same key, different body
  kInvalidState,       // the operation is not allowed in the current state
  kJobCancelled,
  kJobExpired,
  kTooLarge,  // request body above its limit
  kUnsupportedType,
  kInvalidField,  // 422: shape, type, range, combination
  kRateLimited,
  kHeadTooLarge,  // 431
  kInternal,
  kUpstream,         // 502
  kUpstreamTimeout,  // 504: an upstream did not answer in time, or the wait for a running job timed out
  kOverloaded,       // 503: a limit of the gateway is reached (queue, bytes, disk, drain)
  kModelNotFound,
  // Errors of a model's provider that have a standard code.
  kContextLength,  // 400: longer than the context of the model
  kContentPolicy,  // 400, like the next one
  kContentFilter,
  kQuota,  // 429: the operator's account at the provider is exhausted
  // A limit of the tenant or the key (schemas/tenants/limits.h). Both have the same name.
  kQuotaExceeded,   // 429: waiting helps
  kQuotaFull,       // 409: only deleting helps
  kBudgetExceeded,  // 429: the money of a tenant or an API key is spent or reserved
  // Documents (docs/design/http-contract.md §6).
  kDocumentUnsupported,
  kDocumentEmpty,
  kDocumentDamaged,
  kDocumentEncrypted,
  kDocumentBomb,
  kDocumentPageCount,
  kDocumentTooManyPages,
  kDocumentTooLarge,  // 413
  kImageTooLarge,
  kPageTimeout,
  kPageFailed,
  // Recordings (docs/design/http-contract.md §5), analogous to documents. A piece is the part of a recording
  // that is recognised in one step.
  kAudioUnsupported,
  kAudioEmpty,
  kAudioDamaged,
  kAudioTooLong,
  kAudioTooLarge,  // 413
  kPieceTimeout,
  kPieceFailed,
  kFetchFailed,   // 502
  kFetchRefused,  // 422
  kPoisonJob,
  kWorkerLost,
  // Stored data is damaged.
  kStoredDamaged,   // a file of a job
  kRequestDamaged,  // the request of a job, in its row
  kResultDamaged,   // a result or a part of one, in its row
  // Executions (docs/design/http-contract.md §1).
  kCommandFailed,  // the command exited with a code other than 0, or was ended by a signal
  // The command failed after it had reached a limit of its machine.
  kOutOfMemory,
  kOutOfDisk,  // also the largest size of a file
  kProcessLimit,
  kCpuTimeExceeded,
  kExecutionTimedOut,
  kExecutionPrepareFailed,  // the directory or command does not exist, or it is not executable
  kHostAgentFailed,         // the host could not run the command
  kMachineNotFound,
  kMachineNotRoutable,  // destroyed, or its driver cannot reach it
  kMachineWakeFailed,   // it did not wake up before its deadline
};
inline constexpr int kCodes = static_cast<int>(Code::kMachineWakeFailed) + 1;

// Whether a caller may retry after the error. Retryability is data of the error.
enum class RetryClass { kPermanent, kTransient, kRateLimited };

struct CodeInfo {
  Code code;
  int http_status;
  RetryClass retry;
  std::string_view name;          // `code` of the OpenAI-shaped body and of a job's error
  std::string_view openai_type;   // `type` of the OpenAI-shaped body
  std::string_view machine_name;  // `error_code` of the machine-shaped body; empty: problem+json is used
};

const CodeInfo& info(Code code);
inline std::string_view name(Code code) { return info(code).name; }
// The code with this name; kInternal for an unknown name.
Code code_named(std::string_view name);

// `message` is for the client. It names the limit that was exceeded and the setting that changes it. It never
// contains an internal text, a path or a key.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string param;                         // the field with the error, or empty
  std::chrono::milliseconds retry_after{0};  // > 0: the earliest time at which a retry is useful
  std::string details = {};                  // for programs: a JSON object, or empty
  bool is_permanent = false;  // a retry of the same request fails again, whatever the class of the code
  bool is_free = false;       // of an upstream call: not sent, or answered with an HTTP error status
  // Of an upstream call: a kept-alive connection was closed without a byte of a reply. The server has most
  // likely not processed the request. See net::HttpRequest::reports_unanswered.
  bool is_unanswered = false;
  // Of an upstream call: the upstream works, but this answer cannot be used. Says nothing about its health.
  bool is_content_fault = false;
};

// A value or an Error; the result must be checked. Return early; no `.and_then` chains.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error)
      : tl::expected<T, Error>(tl::make_unexpected(std::move(error))) {
  }  // NOLINT(google-explicit-constructor)
};
using Status = Result<void>;

inline Error error(Code code, std::string message, std::string param = {}) {
  return Error{code, std::move(message), std::move(param), {}, {}, false, false, false, false};
}
// The retry class of its code; kPermanent if the error is `lasting`.
RetryClass retry_class(const Error& error);

// The reason phrase, such as "Not Found" (RFC 9110). Empty for a status that is never sent.
std::string_view http_phrase(int status);

}  // namespace millrace::base
