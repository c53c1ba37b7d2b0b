#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace millrace::base {

// Every way in which Millrace refuses or fails, once. The table in result.cpp gives each code its HTTP
// status, its retry class and its names in both error bodies (docs/design/http-contract.md §3 and §6). Job
// errors are stored by `name(code)`.
enum class Code {
  kBadRequest,       // malformed framing, JSON or header
  kUnauthenticated,  // no key was sent
  kKeyInvalid,       // unknown, revoked or expired key
  kForbidden,        // key lacks the scope
  kNotFound,         // no such thing, or another tenant's
  kResultExpired,    // the job is known, its result has been removed
  kMethodNotAllowed,
  kRequestTimeout,
  kIdempotencyReused,  // same key, other body
  kInvalidState,       // the move does not apply to the state
  kJobCancelled,
  kJobExpired,
  kTooLarge,  // request body above its limit
  kUnsupportedType,
  kInvalidField,  // 422: shape, type, range, combination
  kRateLimited,
  kHeadTooLarge,  // 431
  kInternal,
  kUpstream,         // 502
  kUpstreamTimeout,  // 504: a server did not answer in time, or a wait for a job that goes on is over
  kOverloaded,       // 503: a bound of ours is reached (queue, bytes, disk, drain)
  kModelNotFound,
  // What a model's provider says in a word that clients know.
  kContextLength,  // 400: more than the model reads at once
  kContentPolicy,  // 400, as the next
  kContentFilter,
  kQuota,  // 429: the operator's account there has nothing left
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
  // Recordings (docs/design/http-contract.md §5), as documents; a piece is the stretch of one that is
  // recognised in one go.
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
  // What the store reads is not what was written.
  kStoredDamaged,   // a file of a job
  kRequestDamaged,  // what a job was made from, in its row
  kResultDamaged,   // a result, or a part of one, in its row
  // Executions (docs/design/http-contract.md §1).
  kCommandFailed,  // the command's own end: another exit code than 0, or a signal
  kExecutionTimedOut,
  kExecutionPrepareFailed,  // no such directory or command, or it cannot be executed
  kHostAgentFailed,         // the host could not run it
  kMachineNotFound,
  kMachineNotRoutable,  // destroyed, or its driver cannot reach it
  kMachineWakeFailed,   // it did not wake before its deadline
};
inline constexpr int kCodes = static_cast<int>(Code::kMachineWakeFailed) + 1;

// What a caller that sees the error may do. Retryability is data on the error.
enum class RetryClass { kPermanent, kTransient, kRateLimited };

struct CodeInfo {
  Code code;
  int http_status;
  RetryClass retry;
  std::string_view name;          // `code` of the OpenAI-shaped body and of a job's error
  std::string_view openai_type;   // `type` of the OpenAI-shaped body
  std::string_view machine_name;  // `error_code` of the machine-shaped body; empty: problem+json
};

const CodeInfo& info(Code code);
inline std::string_view name(Code code) { return info(code).name; }
// The code whose name this is; kInternal for an unknown name.
Code code_named(std::string_view name);

// `message` is for the client: it names the bound and the knob to turn, and never holds an internal text,
// path or key.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string param;                         // the field it is about, or empty
  std::chrono::milliseconds retry_after{0};  // > 0: when it may be worth trying again
  std::string details = {};                  // for programs: a JSON object, or empty
  bool lasting = false;                      // the same request fails again, whatever its code's class
};

// A value or an Error; must be looked at. Early return, no `.and_then` chains.
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
  return Error{code, std::move(message), std::move(param), {}, {}, false};
}
// Its code's class, but for one that lasts: that is permanent.
RetryClass retry_class(const Error& error);

// "Not Found" (RFC 9110); empty for a status that is never sent.
std::string_view http_phrase(int status);

}  // namespace millrace::base
