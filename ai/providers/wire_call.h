#pragma once
#include <string>
#include <string_view>

#include "ai/providers/provider.h"
#include "platform/net/http_client.h"

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

}  // namespace millrace::providers
