#pragma once
#include <string>

#include "ai/inference/chat/chat.h"
#include "platform/net/sse_reader.h"

namespace millrace::inference {

// A request that is no chat, as its calls see it: what each tells an upstream, and how its answer is read.
// One target at a time has the whole of it, in one call or several. Loop thread, but for `write`, `read` and
// `mock` of a large one: those run on the pool, one at a time for each part.
class MediaRequest {
 public:
  virtual ~MediaRequest() = default;
  virtual Work work() const = 0;
  virtual const std::string& model() const = 0;  // as the client names it
  virtual bool strict() const = 0;
  virtual bool is_large() const = 0;
  // Why this target cannot have it at all; also asked of fallbacks, which are left out then.
  virtual std::optional<schemas::Refusal> refusal(const ModelRow& row) const = 0;

  // Forgets what was read: the number of calls that `target` is to have.
  virtual std::size_t begin(const providers::Target& target) = 0;
  virtual std::int64_t tokens(std::size_t part) const = 0;  // estimated, for the limits
  virtual base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) = 0;
  virtual base::Status read(const providers::Target& target, std::size_t part, std::string body) = 0;
  virtual base::Status mock(const providers::Target& target, std::size_t part) = 0;
  virtual schemas::ChatUsage usage(std::size_t part) const = 0;  // after a `read` or `mock` that went well

  // Streams only: an event of the only part. Once `has_begun`, no other call follows.
  virtual bool streams() const { return false; }
  virtual void going_out(const ChatHead&) {}  // what the stream's head says, if this call begins it
  virtual base::Status on_event(const providers::Target&, const net::SseEvent&) { return {}; }
  virtual bool has_begun() const { return false; }
  virtual bool is_ready() { return true; }  // sounds, too

  // Sounds only: bytes of the only part, as they come; its `read` has an empty body. Otherwise as a stream.
  virtual bool sounds() const { return false; }
  virtual base::Status on_bytes(const providers::Target&, std::string_view) { return {}; }

  virtual void go_silent() {}                           // a cancel: nothing is told any more
  virtual void on_end(base::Result<MediaEnd> end) = 0;  // once, last; not after a cancel
};

}  // namespace millrace::inference
