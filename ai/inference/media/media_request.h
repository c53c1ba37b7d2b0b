#pragma once
#include <optional>
#include <string>

#include "ai/inference/chat/chat.h"
#include "platform/net/sse_reader.h"

namespace millrace::inference {

// What one call uses.
struct Use {
  schemas::ChatUsage usage = {};
  Units units = {};
};

// A request other than chat: how its calls are written to an upstream and how their replies are read. One
// target at a time handles the whole request, in one call ("part") or several. Loop thread only, except
// `write`, `read` and `mock` of a large request: these run on the pool, one at a time for each part.
class MediaRequest {
 public:
  virtual ~MediaRequest() = default;
  virtual Work work() const = 0;
  virtual const std::string& model() const = 0;  // as the client names it
  virtual bool strict() const = 0;
  virtual const schemas::AllowList& allowed_models() const = 0;  // other fallbacks are skipped
  virtual bool is_large() const = 0;
  // Why this target cannot handle the request. Fallbacks that return a refusal are skipped.
  virtual std::optional<schemas::Refusal> refusal(const ModelRow& row) const = 0;

  // Discards the replies read so far. Returns the number of calls that `target` needs.
  virtual std::size_t begin(const providers::Target& target) = 0;
  virtual std::int64_t tokens(std::size_t part) const = 0;  // estimated, for the limits
  virtual base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) = 0;
  virtual base::Status read(const providers::Target& target, std::size_t part, const std::string& body) = 0;
  virtual base::Status mock(const providers::Target& target, std::size_t part) = 0;
  virtual Use used(std::size_t part) const = 0;  // after a successful `read` or `mock`
  // What the events of a stream have reported so far; nullopt: nothing.
  virtual std::optional<schemas::ChatUsage> reported(std::size_t) const { return std::nullopt; }
  // The most that the part may use. REQUIRES: `begin`.
  virtual Use most(const providers::Target& target, std::size_t part) const = 0;

  // Streams only: on_event receives an event of the only part. Once has_begun() is true, no other call
  // follows.
  virtual bool streams() const { return false; }
  virtual void on_sending(const ChatHead&) {}  // the head of the stream, if this call begins it
  virtual base::Status on_event(const providers::Target&, const net::SseEvent&) { return {}; }
  virtual bool has_begun() const { return false; }
  virtual bool is_ready() { return true; }  // also for audio

  // Audio only: on_bytes receives the bytes of the only part as they arrive, and `read` gets an empty body.
  // Otherwise as a stream.
  virtual bool streams_audio() const { return false; }
  virtual base::Status on_bytes(const providers::Target&, std::string_view) { return {}; }

  virtual void drop_sink() {}                              // after a cancel: no callback follows
  virtual void on_end(base::Result<MediaResult> end) = 0;  // once, last; not after a cancel
};

}  // namespace millrace::inference
