#pragma once
#include <optional>

#include "ai/providers/provider.h"
#include "schemas/speech.h"

// Speech: whose API has it, and its request in OpenAI's form ({base_url}/audio/speech). The reply is the
// audio itself. Pure functions, thread-safe.
namespace millrace::providers {

// nullopt: it has it.
std::optional<base::Error> no_speech(const Target& target);
// REQUIRES: no_speech(target) is nullopt. The bytes are asked for whatever the client wants them in.
WireRequest speech_request(const Target& target, const schemas::SpeechRequest& request);

}  // namespace millrace::providers
