#pragma once
#include <optional>

#include "machines/driver.h"
#include "platform/net/http_client.h"

namespace millrace::workers {

// The status that a request is answered with; nothing of the reply's body is read. nullopt: told to stop.
// kUpstream, kUpstreamTimeout. Blocks for `request.total_timeout` at most; never on the client's loop.
base::Result<std::optional<int>> ask_http(net::HttpClient& client, net::HttpRequest request,
                                          const machines::StopSwitch& stop);

// Waits; true: told to stop before `pause` was over.
bool stopped_within(const machines::StopSwitch& stop, std::chrono::milliseconds pause);

}  // namespace millrace::workers
