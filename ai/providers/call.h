#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/provider.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"

// What all exchanges with upstreams have in common, whatever they carry.
namespace millrace::providers {

// `wire` as it goes to `target`: its URL, the key, the operator's headers, the time-outs. Without bounds of
// the reply.
net::HttpRequest http_request(const Target& target, WireRequest wire);

// What the body of a reply is, by its head.
enum class BodyForm : std::uint8_t { kWhole, kEvents, kError, kForeign };
BodyForm body_form(int status, std::string_view content_type, bool stream);

// kUpstream: "<provider> <what>".
base::Error fault(const Target& target, std::string_view what);
// kUpstream: a reply past the bound.
base::Error too_long(const Target& target, std::size_t bytes_max);
// An error of the transport as clients see it; `bytes_max` is the bound that kTooLarge speaks of.
base::Error transport_error(const Target& target, const base::Error& error, std::size_t bytes_max);

// Bounds of what an upstream may send.
struct CallLimits {
  std::size_t reply_bytes_max = 64u << 20;   // of a whole reply, and of a whole stream ×4
  std::size_t event_bytes_max = 16u << 20;   // of one event of a stream
  std::size_t error_bytes_max = 256u << 10;  // of an error reply; the rest is not read
};

// How an exchange is heard. All on the loop's thread; none may block.
struct CallHandlers {
  static constexpr std::size_t kReadAtOnce = 32u << 10;
  // Streams only: new pieces. The first call means that the upstream has begun to answer: no retry after it.
  std::function<void(std::vector<schemas::ChatPiece>&&)> on_pieces;
  // Streams only: room for more? While there is none the upstream waits, until `resume`.
  std::function<bool()> is_ready;
  // Instead of on_done: the body of a whole reply above kReadAtOnce bytes, to be read by the translation's
  // chat_reply elsewhere. Null: it is read here, whatever its length.
  std::function<void(std::string body)> on_unread;
  // Once, last. Of a stream the reply has the facts and no choices. Errors: as upstream_error;
  // kUpstreamTimeout names which time-out; kUpstream for what is no reply of the protocol (HTML with 200, cut
  // short, past a bound).
  std::function<void(base::Result<schemas::ChatReply>)> on_done;
};

// One exchange with an upstream. Loop thread only.
class Call {
 public:
  virtual ~Call() = default;
  virtual void cancel() = 0;  // closes the connection; no callback afterwards
  virtual void resume() = 0;
};
std::shared_ptr<Call> start_chat(net::Loop& loop, net::HttpClient& client,
                                 std::shared_ptr<const Target> target, WireRequest request, bool stream,
                                 const CallLimits& limits, CallHandlers handlers);

}  // namespace millrace::providers
