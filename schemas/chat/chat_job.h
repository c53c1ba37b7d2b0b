#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

// The stored data of a deferred completion.
namespace millrace::schemas {

// The outcome of a deferred request, and its completion.
struct ChatOutcome {
  std::string model;    // the model that responded, or that was requested last; empty: none was requested
  int attempts = 0;     // calls to upstreams
  std::string dropped;  // dropped_text
  std::string usage;    // a JSON object; empty: unknown
  std::optional<double> cost_usd;
  std::string param = {};  // of the error, in data of older releases; newer ones store it in the job's error
  std::string completion;  // as by chat_completion_json; empty: none
};
// The stored result of a job: a header line, then the completion.
std::string chat_outcome_text(const ChatOutcome& outcome);
// nullopt: `text` is not such a result. The completion is moved out of `text`, not copied.
std::optional<ChatOutcome> chat_outcome_from(std::string text);

// The usage in the API's form: a JSON object, or empty.
std::string chat_usage_json(const std::optional<ChatUsage>& usage);
// US dollars with up to nine decimals: "0.000123".
std::string dollars(double usd);

inline constexpr std::size_t kStoredImageMax = std::size_t{8} << 20;  // decoded bytes; the spec requires 8 MB
// Replaces every image of `request` that is a data URI above kStoredImageMax with a line of text. False:
// there was none.
bool drop_large_images(ChatRequest& request);

}  // namespace millrace::schemas
