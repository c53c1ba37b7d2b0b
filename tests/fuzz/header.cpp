#include <string>

#include "api/headers.h"
#include "tests/fuzz/fuzz.h"

// Page cursors and request headers. The input is a cursor, and the value of each header.
namespace millrace::api {
namespace {

using fuzz::require;

void check_cursors(std::string_view text) {
  if (const auto id = job_cursor_of(text)) require(job_cursor(*id) == text, "a job cursor has one form");
  if (const auto version = event_cursor_of(text))
    require(*version >= 0 && event_cursor(*version) == text, "an event cursor has one form");
}

front::Head head_of(const char* name, std::string_view value) {
  front::Head head;
  head.headers.push_back({name, std::string(value)});
  return head;
}

bool in_header(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void check_headers(std::string_view value) {
  const std::string id = request_id(head_of("x-request-id", value));
  require(!id.empty() && id.size() <= 128 && in_header(id), "a request id can be sent back");
  const std::string trace = traceparent(head_of("traceparent", value));
  require(trace.empty() || (trace.size() == 55 && in_header(trace)), "a traceparent can be sent on");
  if (const auto wait = prefer(head_of("prefer", value)).wait)
    require(wait->count() >= 0, "no negative wait");
  const auto key = idempotency_key(head_of("idempotency-key", value));
  if (key && *key)
    require(!(*key)->empty() && (*key)->size() <= 255 && in_header(**key), "a key within its bound");
  is_json_type(value);
  accepts_event_stream(head_of("accept", value));
}

}  // namespace
}  // namespace millrace::api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = millrace::fuzz::text_of(data, size);
  millrace::api::check_cursors(text);
  millrace::api::check_headers(text);
  return 0;
}
