#pragma once
#include <string_view>

#include "ai/providers/provider.h"
#include "platform/base/result.h"

namespace millrace::providers {

// The dialect that decides which media and which members of messages a target takes: a server with its own
// address behind `provider: openai` decides itself, like a local one.
Dialect media_dialect(const Target& target);
// True if models of the dialect take images of this type, sent as bytes.
bool supports_image_type(Dialect dialect, std::string_view media_type);

// kInvalidField if a message has bytes of a media type that the provider rejects, or a part of type audio_url
// or video_url that the target does not take. The error names the part: "messages.0.content.1". What is
// behind a URL is not checked: only the provider fetches it.
base::Status check_media(const Target& target, const schemas::ChatRequest& request);

}  // namespace millrace::providers
