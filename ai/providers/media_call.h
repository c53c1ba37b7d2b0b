#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ai/providers/call.h"

namespace millrace::providers {

// How an exchange that is no chat is heard. All on the loop's thread; none may block.
struct MediaHandlers {
  // Null: no stream is asked for. An error ends the exchange with it.
  std::function<base::Status(const net::SseEvent&)> on_event;
  // Null: no sound is asked for. The bytes of a good reply's body as they come; a text is none.
  std::function<base::Status(std::string_view)> on_bytes;
  std::function<bool()> is_ready;  // streams and sounds only, as CallHandlers'
  // Once, last: the body of a reply that was whole; of a stream or a sound nothing. Errors as CallHandlers'.
  std::function<void(base::Result<std::string>)> on_done;
};

// One exchange with an upstream whose reply is read by the caller. Loop thread only.
std::shared_ptr<Call> start_media(net::HttpClient& client, const Target& target, WireRequest request,
                                  const CallLimits& limits, MediaHandlers handlers);

}  // namespace millrace::providers
