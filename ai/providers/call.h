#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/provider.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"

// Shared by all upstream calls, for chats and media.
namespace millrace::providers {

// The HTTP request that sends `wire` to `target`: URL, key, the operator's headers, time-outs. Sets no bounds
// for the reply.
net::HttpRequest http_request(const Target& target, WireRequest wire);

// The form of a reply's body, derived from its head.
enum class BodyForm : std::uint8_t { kWhole, kEvents, kError, kForeign };
BodyForm body_form(int status, std::string_view content_type, bool stream);

// kUpstream: the reply, or one event of it, exceeds the bound. Faults of the content.
base::Error too_long(const Target& target, std::size_t bytes_max);
base::Error event_too_long(const Target& target, std::size_t bytes_max);
// A transport error as clients receive it. `bytes_max`: the bound that kTooLarge refers to. `form`: of the
// reply; a reply with an error status is free, even if it is incomplete.
base::Error transport_error(const Target& target, const base::Error& error, BodyForm form,
                            std::size_t bytes_max);

// An exception while a reply was read: a fault of the gateway, which is logged and fails this answer alone.
base::Error reading_failed(const Target& target, const std::exception& fault);
// The result of `read`, which reads what an upstream has sent.
template <class Read>
auto read_safely(const Target& target, Read&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::exception& fault) {
    return reading_failed(target, fault);
  }
}

// Bounds for the data that an upstream may send.
struct CallLimits {
  std::size_t reply_bytes_max = 64u << 20;   // a whole reply; a whole stream may have four times as much
  std::size_t event_bytes_max = 16u << 20;   // one event of a stream
  std::size_t error_bytes_max = 256u << 10;  // an error reply; the rest is not read
  // How long the oldest text that ends inside a character waits for the rest of it.
  std::chrono::milliseconds split_character_wait{2'000};
};

// What is known of the usage of a call that failed.
struct FailedUsage {
  std::optional<schemas::ChatUsage> reported;  // of a stream: so far
  std::int64_t content_tokens = 0;             // of a whole reply: estimated from its texts
};
// Of a whole reply that Translation::chat_reply rejects. Null: it has neither. Pure.
std::unique_ptr<FailedUsage> rejected_usage(const Target& target, std::string_view body);

// Callbacks of one call. All run on the loop's thread; none may block.
struct CallHandlers {
  static constexpr std::size_t kParsedOnLoopMax = 32u << 10;
  // Streams only: new pieces. The first ones may have no content.
  std::function<void(std::vector<schemas::ChatPiece>&&)> on_pieces;
  // Streams only: whether more pieces can be taken. If false, reading from the upstream pauses until
  // `resume`.
  std::function<bool()> is_ready;
  // Called instead of on_done for a whole reply above kParsedOnLoopMax bytes. The receiver parses the body
  // elsewhere with Translation::chat_reply. Null: every reply is parsed here.
  std::function<void(std::string body)> on_unparsed;
  // Called before `on_done` gets an error, if it is known what the failed call has used. May be null.
  std::function<void(std::unique_ptr<FailedUsage>)> on_failed_usage;
  // Called once, last. For a stream the reply has the facts and no choices. Errors: as upstream_error.
  // kUpstreamTimeout names the time-out. kUpstream: the reply breaks the protocol (HTML with 200, cut short,
  // beyond a bound).
  std::function<void(base::Result<schemas::ChatReply>)> on_done;
};

// One call to an upstream. Loop thread only.
class Call {
 public:
  virtual ~Call() = default;
  virtual void cancel() = 0;  // closes the connection; no callback follows
  virtual void resume() = 0;
};
std::shared_ptr<Call> start_chat(net::Loop& loop, net::HttpClient& client,
                                 std::shared_ptr<const Target> target, WireRequest request, bool stream,
                                 const CallLimits& limits, CallHandlers handlers);

}  // namespace millrace::providers
