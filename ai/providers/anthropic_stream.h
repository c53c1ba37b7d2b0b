#pragma once
#include <memory>

#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::stream_reader for Anthropic's Messages API. `target` outlives it.
std::unique_ptr<StreamReader> anthropic_stream(const Target& target);

}  // namespace millrace::providers
