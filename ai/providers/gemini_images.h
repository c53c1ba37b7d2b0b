#pragma once
#include "ai/providers/media.h"

namespace millrace::providers {

// Images of Gemini's API: by :generateContent one in a call, by Imagen's :predict up to four.
int gemini_image_calls(const Target& target, const schemas::ImageRequest& request);
// `call`: which of them, from 0.
WireRequest gemini_image_request(const Target& target, const schemas::ImageRequest& request, int call);
// kBadRequest: the provider's filters refused the prompt, or every image.
base::Result<schemas::ImageReply> gemini_image_reply(const Target& target, std::string_view body);

}  // namespace millrace::providers
