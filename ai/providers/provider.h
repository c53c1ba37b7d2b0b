#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/providers/families.h"
#include "platform/base/crypto.h"
#include "platform/base/result.h"
#include "platform/net/sse_reader.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"
#include "schemas/dropped.h"

namespace millrace::providers {

// One model of one upstream, resolved: whom to ask and how.
struct Target {
  std::string name;                // what clients ask for: in replies, metrics and x-millrace-model
  const Preset* preset = nullptr;  // never null
  std::string model;               // the upstream's own name
  std::string base_url;            // without a slash at its end
  base::Secret key;                // may be empty
  std::vector<std::pair<std::string, std::string>> headers = {};  // more of the operator's
  std::optional<std::int64_t> output_max = {};  // tokens; for families that must be told one
  bool response_format = false;
  struct Timeouts {
    std::chrono::milliseconds connect{10'000};
    std::chrono::milliseconds first_byte{300'000};  // from the start to the reply's body
    std::chrono::milliseconds idle{120'000};        // between two pieces
    std::chrono::milliseconds total{1'200'000};
  } timeouts = {};
};

// What becomes of a parameter there: the dialect's cell, narrowed by what the model lacks. nullopt as
// support(Dialect).
std::optional<Support> support(const Target& target, std::string_view parameter);

// A request in a provider's own form. `path` begins with '/' and follows the base URL.
struct WireRequest {
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;  // Content-Type and the provider's; the key not
  std::string body;
  schemas::DroppedParams dropped;
  int choices = 1;  // asked for
};

// Turns a stream's events into pieces. One per exchange; not thread-safe.
class StreamReader {
 public:
  virtual ~StreamReader() = default;
  // Adds what `event` means to `out`. An error that the upstream says inside its stream, or an event that is
  // none of its protocol, is returned: nothing follows then.
  virtual base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) = 0;
  // The upstream has said that a completion of at least `choices` is over; a stream that ends before is
  // broken. Those that it has not begun are unknown: an end word is for all of them.
  virtual bool complete(int choices) const = 0;
  // It has said its end word, after which comes nothing. Never of a protocol without one.
  virtual bool has_end_word() const = 0;
  // What is known so far.
  virtual const schemas::ChatFacts& facts() const = 0;
};

// One family's language: pure functions, made and tested without a network. Thread-safe; no state.
class Translation {
 public:
  virtual ~Translation() = default;
  // kInvalidField or kBadRequest: what this provider cannot be told at all (an image by URL where it takes
  // none …); the message names the parameter.
  virtual base::Result<WireRequest> chat_request(const Target& target, const schemas::ChatRequest& request,
                                                 bool stream) const = 0;
  virtual base::Result<schemas::ChatReply> chat_reply(const Target& target, std::string_view body) const = 0;
  virtual std::unique_ptr<StreamReader> stream_reader(const Target& target) const = 0;
  // The header that carries the key.
  virtual std::pair<std::string, std::string> credential(const base::Secret& key) const = 0;
  // What an error reply says, in the provider's words (bounded), without anything that looks like a key;
  // empty: its body is none of the family's error forms.
  virtual std::string error_message(std::string_view body) const = 0;
};
const Translation& translation(Family family);  // kMock has none: std::logic_error

// The family files' own.
const Translation& openai_translation();
const Translation& anthropic_translation();
const Translation& gemini_translation();

// The target refuses the key itself (401), whatever is asked.
bool is_bad_key(const base::Error& error);
// It refuses what was asked, which says nothing of how it does other things (403, 405, 409, 415, 501 …).
bool is_refusal(const base::Error& error);

// An error reply as an Error of ours. 400 and 422 → kBadRequest; 401 and 403 → kUpstream (the operator's key,
// not the client's); 404 → kModelNotFound; 408, 504 → kUpstreamTimeout; 413 → kTooLarge; 429 →
// kRateLimited with retry_after from retry-after-ms, retry-after or the body; 503, 529 → kOverloaded; the
// rest → kUpstream; a 4xx or 501 of these is lasting, but for 409, 425 and 499. Where the reply names one of
// the causes that clients know, or says it in known words, that is the code: kContextLength, kContentPolicy,
// kContentFilter, kQuota. The message says the model's name in the registry and what the provider said.
base::Error upstream_error(const Target& target, int status,
                           const std::vector<std::pair<std::string, std::string>>& headers,
                           std::string_view body);

}  // namespace millrace::providers
