#include "platform/base/result.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::base {
namespace {

constexpr std::string_view kRequest = "invalid_request_error";
constexpr std::string_view kPermission = "permission_error";
constexpr std::string_view kRate = "rate_limit_error";
constexpr std::string_view kServer = "server_error";

constexpr RetryClass kNever = RetryClass::kPermanent;
constexpr RetryClass kLater = RetryClass::kTransient;

// In the order of the enumerators. A missing key and a wrong one have the same name, so that the bodies of
// both 401 responses are alike.
constexpr std::array kTable{
    CodeInfo{Code::kBadRequest, 400, kNever, "bad_request", kRequest, ""},
    CodeInfo{Code::kUnauthenticated, 401, kNever, "invalid_api_key", kRequest, "AUTH_REQUIRED"},
    CodeInfo{Code::kKeyInvalid, 401, kNever, "invalid_api_key", kRequest, "AUTH_INVALID"},
    CodeInfo{Code::kForbidden, 403, kNever, "permission_denied", kPermission, "AUTH_SCOPE_FORBIDDEN"},
    CodeInfo{Code::kNotFound, 404, kNever, "not_found", kRequest, ""},
    CodeInfo{Code::kResultExpired, 404, kNever, "result_expired", kRequest, ""},
    CodeInfo{Code::kMethodNotAllowed, 405, kNever, "method_not_allowed", kRequest, ""},
    CodeInfo{Code::kMisdirected, 421, kNever, "misdirected_request", kRequest, ""},
    CodeInfo{Code::kRequestTimeout, 408, kLater, "request_timeout", kRequest, ""},
    CodeInfo{Code::kIdempotencyReused, 409, kNever, "idempotency_key_reused", kRequest,
             "IDEMPOTENCY_KEY_REUSED"},
    CodeInfo{Code::kInvalidState, 409, kNever, "invalid_state", kRequest, "INVALID_STATE"},
    CodeInfo{Code::kJobCancelled, 409, kNever, "job_cancelled", kRequest, "INVALID_STATE"},
    CodeInfo{Code::kJobExpired, 504, kNever, "job_expired", kServer, ""},
    CodeInfo{Code::kTooLarge, 413, kNever, "request_too_large", kRequest, ""},
    CodeInfo{Code::kUnsupportedType, 415, kNever, "unsupported_media_type", kRequest, ""},
    CodeInfo{Code::kInvalidField, 422, kNever, "invalid_field", kRequest, ""},
    CodeInfo{Code::kRateLimited, 429, RetryClass::kRateLimited, "rate_limit_exceeded", kRate, "RATE_LIMITED"},
    CodeInfo{Code::kHeadTooLarge, 431, kNever, "request_head_too_large", kRequest, ""},
    CodeInfo{Code::kInternal, 500, kLater, "server_error", kServer, ""},
    CodeInfo{Code::kUpstream, 502, kLater, "upstream_error", kServer, ""},
    CodeInfo{Code::kUpstreamTimeout, 504, kLater, "upstream_timeout", kServer, ""},
    CodeInfo{Code::kOverloaded, 503, kLater, "overloaded", kServer, "DEPENDENCY_UNAVAILABLE"},
    CodeInfo{Code::kModelNotFound, 404, kNever, "model_not_found", kRequest, ""},
    CodeInfo{Code::kContextLength, 400, kNever, "context_length_exceeded", kRequest, ""},
    CodeInfo{Code::kContentPolicy, 400, kNever, "content_policy_violation", kRequest, ""},
    CodeInfo{Code::kContentFilter, 400, kNever, "content_filter", kRequest, ""},
    CodeInfo{Code::kQuota, 429, RetryClass::kRateLimited, "insufficient_quota", kRate, "RATE_LIMITED"},
    CodeInfo{Code::kQuotaExceeded, 429, RetryClass::kRateLimited, "quota_exceeded", kRate, "RATE_LIMITED"},
    CodeInfo{Code::kQuotaFull, 409, kNever, "quota_exceeded", kRequest, "QUOTA_EXCEEDED"},
    CodeInfo{Code::kBudgetExceeded, 429, kNever, "budget_exceeded", kRate, "BUDGET_EXCEEDED"},
    CodeInfo{Code::kDocumentUnsupported, 422, kNever, "document_unsupported", kRequest, ""},
    CodeInfo{Code::kDocumentEmpty, 422, kNever, "document_empty", kRequest, ""},
    CodeInfo{Code::kDocumentDamaged, 422, kNever, "document_damaged", kRequest, ""},
    CodeInfo{Code::kDocumentEncrypted, 422, kNever, "document_encrypted", kRequest, ""},
    CodeInfo{Code::kDocumentBomb, 422, kNever, "document_bomb", kRequest, ""},
    CodeInfo{Code::kDocumentPageCount, 422, kNever, "document_page_count", kRequest, ""},
    CodeInfo{Code::kDocumentTooManyPages, 422, kNever, "document_too_many_pages", kRequest, ""},
    CodeInfo{Code::kDocumentTooLarge, 413, kNever, "document_too_large", kRequest, ""},
    CodeInfo{Code::kImageTooLarge, 422, kNever, "image_too_large", kRequest, ""},
    CodeInfo{Code::kPageTimeout, 422, kNever, "page_timeout", kRequest, ""},
    CodeInfo{Code::kPageFailed, 422, kNever, "page_failed", kRequest, ""},
    CodeInfo{Code::kAudioUnsupported, 422, kNever, "audio_unsupported", kRequest, ""},
    CodeInfo{Code::kAudioEmpty, 422, kNever, "audio_empty", kRequest, ""},
    CodeInfo{Code::kAudioDamaged, 422, kNever, "audio_damaged", kRequest, ""},
    CodeInfo{Code::kAudioTooLong, 422, kNever, "audio_too_long", kRequest, ""},
    CodeInfo{Code::kAudioTooLarge, 413, kNever, "audio_too_large", kRequest, ""},
    CodeInfo{Code::kPieceTimeout, 422, kNever, "piece_timeout", kRequest, ""},
    CodeInfo{Code::kPieceFailed, 422, kNever, "piece_failed", kRequest, ""},
    CodeInfo{Code::kFetchFailed, 502, kLater, "fetch_failed", kServer, ""},
    CodeInfo{Code::kFetchRefused, 422, kNever, "fetch_refused", kRequest, ""},
    CodeInfo{Code::kPoisonJob, 500, kNever, "poison_job", kServer, ""},
    CodeInfo{Code::kWorkerLost, 500, kNever, "worker_lost", kServer, ""},
    CodeInfo{Code::kStoredDamaged, 500, kNever, "stored_file_damaged", kServer, ""},
    CodeInfo{Code::kRequestDamaged, 500, kNever, "request_damaged", kServer, ""},
    CodeInfo{Code::kResultDamaged, 500, kNever, "result_damaged", kServer, ""},
    CodeInfo{Code::kCommandFailed, 500, kNever, "command_failed", kServer, ""},
    CodeInfo{Code::kOutOfMemory, 500, kNever, "out_of_memory", kServer, ""},
    CodeInfo{Code::kOutOfDisk, 500, kNever, "out_of_disk", kServer, ""},
    CodeInfo{Code::kProcessLimit, 500, kNever, "process_limit", kServer, ""},
    CodeInfo{Code::kCpuTimeExceeded, 500, kNever, "cpu_time_exceeded", kServer, ""},
    CodeInfo{Code::kExecutionTimedOut, 504, kNever, "execution_timed_out", kServer, ""},
    CodeInfo{Code::kExecutionPrepareFailed, 500, kNever, "execution_runner_prepare_failed", kServer, ""},
    CodeInfo{Code::kHostAgentFailed, 500, kNever, "host_agent_execute_failed", kServer, ""},
    CodeInfo{Code::kMachineNotFound, 404, kNever, "machine_not_found", kRequest, ""},
    CodeInfo{Code::kMachineNotRoutable, 500, kNever, "machine_not_routable", kServer, ""},
    CodeInfo{Code::kMachineWakeFailed, 500, kNever, "machine_wake_failed", kServer, ""},
};
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].code != static_cast<Code>(i)) return false;
  }
  return kTable.size() == static_cast<std::size_t>(kCodes);
}
static_assert(in_order(), "one row per code, in the order of the enumerators");

}  // namespace

const CodeInfo& info(Code code) { return kTable[static_cast<std::size_t>(code)]; }

RetryClass retry_class(const Error& error) {
  return error.is_permanent ? RetryClass::kPermanent : info(error.code).retry;
}

Code code_named(std::string_view name) {
  const auto* row =
      std::find_if(kTable.begin(), kTable.end(), [&](const CodeInfo& r) { return r.name == name; });
  return row == kTable.end() ? Code::kInternal : row->code;
}

namespace {

constexpr std::array<std::pair<int, std::string_view>, 29> kPhrases = {{
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
}};

}  // namespace

std::string_view http_phrase(int status) {
  for (const auto& [known, phrase] : kPhrases) {
    if (known == status) return phrase;
  }
  return {};
}

}  // namespace millrace::base
