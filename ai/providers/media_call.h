#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ai/providers/call.h"

namespace millrace::providers {

// Callbacks of a media call. All run on the loop's thread; none may block.
struct MediaHandlers {
  // Null: the request is not for a stream. A returned error ends the call with that error.
  std::function<base::Status(const net::SseEvent&)> on_event;
  // Null: the request is not for audio. Receives the body of a successful reply as it arrives; a text body is
  // not accepted as audio.
  std::function<base::Status(std::string_view)> on_bytes;
  std::function<bool()> is_ready;  // streams and audio only, as in CallHandlers
  // Called once, last, with the body of a whole reply; empty for a stream or audio. Errors as in
  // CallHandlers.
  std::function<void(base::Result<std::string>)> on_done;
};

// Starts a call to an upstream; the caller parses the reply. Loop thread only.
std::shared_ptr<Call> start_media(net::HttpClient& client, const Target& target, WireRequest request,
                                  const CallLimits& limits, MediaHandlers handlers);

}  // namespace millrace::providers
