#pragma once
#include <string>
#include <string_view>

#include "ai/providers/provider.h"

// What upstreams say in their errors, made fit for clients.
namespace millrace::providers {

inline constexpr std::size_t kUpstreamWordsMax = 1024;  // bytes

// `text` on one line, cut at kUpstreamWordsMax, whatever looks like a key replaced by "***".
std::string upstream_words(std::string_view text);

// `words` without the key and the values of the operator's headers; of credentials also without their scheme.
std::string masked(const Target& target, std::string_view words);

// The error that `status` means at this upstream (the table of upstream_error); `words` as upstream_words
// gives them, or empty. `meant`: what it means by that, if that is another (meant_status); 0: it is not.
base::Error said_error(const Target& target, int status, std::string_view words, int meant = 0);

// An error that an upstream says inside a stream or a 200, whatever status it names (0: none).
base::Error stream_error(const Target& target, int status, std::string_view words);

}  // namespace millrace::providers
