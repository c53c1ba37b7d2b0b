#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

// What is kept of a deferred completion.
namespace millrace::schemas {

// How a deferred request was answered, and the answer.
struct ChatOutcome {
  std::string model;    // who answered, or was asked last; empty: nobody was
  int attempts = 0;     // calls to upstreams
  std::string dropped;  // dropped_text
  std::string usage;    // a JSON object; empty: not known
  std::optional<double> cost_usd;
  std::string param = {};  // of its error, where an older release wrote it: since then the job's error has it
  std::string completion;  // as chat_completion_json; empty: there is none
};
// What a job keeps as its result: a line of ours, then the completion.
std::string chat_outcome_text(const ChatOutcome& outcome);
// nullopt: `text` is none. The completion is cut out of it, not copied.
std::optional<ChatOutcome> chat_outcome_from(std::string text);

// The usage as clients see it: a JSON object, or empty.
std::string chat_usage_json(const std::optional<ChatUsage>& usage);
// US dollars, to the nano-dollar: "0.000123".
std::string dollars(double usd);

inline constexpr std::size_t kKeptImageMax = std::size_t{8} << 20;  // decoded bytes; the spec's 8 MB
// Puts a line of text in the place of every image of `request` that comes as a data URI of more than
// kKeptImageMax. False: there is none.
bool drop_large_images(ChatRequest& request);

}  // namespace millrace::schemas
