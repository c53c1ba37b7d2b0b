#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/providers/families.h"
#include "ai/providers/wire_names.h"
#include "platform/base/crypto.h"
#include "platform/base/result.h"
#include "platform/net/sse_reader.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"
#include "schemas/dropped.h"

namespace millrace::providers {

// One model of one upstream, with everything needed to call it.
struct Target {
  std::string name;                // that clients use; in replies, metrics and x-millrace-model
  const Preset* preset = nullptr;  // never null
  std::string model;               // the upstream's name of the model
  std::string base_url;            // without a trailing slash
  base::Secret key;                // may be empty
  std::vector<std::pair<std::string, std::string>> headers = {};  // additional, from the operator
  std::optional<std::int64_t> output_max = {};                    // tokens; for families that require one
  std::optional<std::int64_t> input_max = {};                     // tokens of a prompt, for its cost bound
  bool response_format = false;
  bool media_urls = false;          // takes parts of type audio_url and video_url
  std::optional<bool> vision = {};  // the model sees images; nullopt: its name decides (sees_images)
  struct Timeouts {
    std::chrono::milliseconds connect{10'000};
    std::chrono::milliseconds first_byte{300'000};  // from the start to the reply's body
    std::chrono::milliseconds idle{120'000};        // between two pieces
    std::chrono::milliseconds total{1'200'000};
  } timeouts = {};
};

// How this target handles a parameter: the cell of its dialect, restricted by the abilities of the model.
// nullopt as in support(Dialect).
std::optional<Support> support(const Target& target, std::string_view parameter);

// The finish_reason of a choice whose turn the provider has paused (Anthropic's pause_turn). Its
// reasoning_state has the whole turn so far. An assistant message with that state, appended to the request,
// continues it. Never sent to clients.
inline constexpr std::string_view kPausedTurn = "pause_turn";
// The state of a turn in two parts. `later`, `text`: the state and the content of the second part.
std::string joined_turn(const std::string& paused, const std::string& later, std::string_view text);

// A request in the provider's format. `path` begins with '/' and is appended to the base URL.
struct WireRequest {
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;  // Content-Type and provider headers; not the key
  std::string body;
  schemas::DroppedParams dropped;
  int choices = 1;              // requested
  bool may_pause = false;       // the provider runs tools of its own: see kPausedTurn
  bool loosened_tools = false;  // a strict tool's schema was sent without some of its demands
  bool own_connection = false;  // net::HttpRequest::own_connection: sent once at most
  WireNames names = {};         // to be restored in the answer
};

// Converts the events of a stream into pieces. One per call; not thread-safe.
class StreamReader {
 public:
  virtual ~StreamReader() = default;
  // Appends the pieces of `event` to `out`. Returns an error if the event reports one or breaks the protocol;
  // then nothing more may be read.
  virtual base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) = 0;
  // Appends what a complete stream has at its end, such as the finish reasons: only then is it known that
  // nothing follows. To be called when nothing more will be read. Does nothing if `read` has done it at the
  // end marker.
  virtual void end(std::vector<schemas::ChatPiece>& out) = 0;
  // True if the upstream has reported the end of at least `choices` choices. A stream that ends earlier is
  // broken. A choice without any event counts as open, until the end marker.
  virtual bool complete(int choices) const = 0;
  // True if content has followed the reported end of a choice: what the upstream reports is not its end.
  virtual bool is_continued() const { return false; }
  // True if the end marker has arrived, after which nothing follows. Always false for a protocol without one.
  virtual bool has_end_marker() const = 0;
  // To be called before `read` if the turn may be paused: the reader keeps all that a kPausedTurn needs.
  // Otherwise a pause ends the turn with "length".
  virtual void keep_turn() {}
  // The facts known so far.
  virtual const schemas::ChatMetadata& facts() const = 0;
};

// The functions that translate to and from the protocol of one family. All are pure and thread-safe; they are
// tested without a network.
struct Translation {
  // kInvalidField or kBadRequest: the request has content that this provider does not support, for example an
  // image by URL; the message names the parameter.
  base::Result<WireRequest> (*chat_request)(const Target& target, const schemas::ChatRequest& request,
                                            bool stream);
  base::Result<schemas::ChatReply> (*chat_reply)(const Target& target, std::string_view body);
  // The usage that a whole reply reports, also one that `chat_reply` rejects.
  std::optional<schemas::ChatUsage> (*reply_usage)(const schemas::Json& reply);
  std::unique_ptr<StreamReader> (*stream_reader)(const Target& target);  // `target` outlives the reader
  // The header that carries the key.
  std::pair<std::string, std::string> (*credential)(const base::Secret& key);
  // The message of an error reply, as the provider wrote it, bounded and with everything that looks like a
  // key masked. Empty: the body is not an error of this family.
  std::string (*error_message)(std::string_view body);
};
const Translation& translation(Family family);  // families.cpp; kMock has none: std::logic_error

// The target rejects the key (401), whatever the request is.
bool is_bad_key(const base::Error& error);
// The target refuses this request only, which does not show whether it can do other work (403, 405, 409, 415,
// 501 …).
bool is_refusal(const base::Error& error);

// Converts an error reply to an Error. 400 and 422 → kBadRequest; 401 and 403 → kUpstream (the key is the
// operator's, not the client's); 404 → kModelNotFound; 408, 504 → kUpstreamTimeout; 413 → kTooLarge; 429 →
// kRateLimited with retry_after from retry-after-ms, retry-after or the body; 503, 529 → kOverloaded; the
// rest → kUpstream. The call was free. A 4xx or 501 among the rest is lasting, except 409, 425 and 499. If
// the reply names a cause that clients know, in a field or with a known phrase, the code is that cause:
// kContextLength, kContentPolicy, kContentFilter, kQuota. The message contains the registry name of the model
// and the provider's message.
base::Error upstream_error(const Target& target, int status,
                           const std::vector<std::pair<std::string, std::string>>& headers,
                           std::string_view body);

}  // namespace millrace::providers
