#pragma once
#include <string>
#include <string_view>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"
#include "platform/base/result.h"

// What upstreams say in their errors, made fit for clients.
namespace millrace::providers {

inline constexpr std::size_t kUpstreamTextMax = 1024;  // bytes

// `text` on one line, cut at kUpstreamWordsMax, whatever looks like a key replaced by "***".
std::string upstream_text(std::string_view text);

// `words` without the key and the values of the operator's headers; of credentials also without their scheme.
std::string masked(const Target& target, std::string_view words);

// The error that `status` means at this upstream (the table of upstream_error); `words` as upstream_words
// gives them, or empty. `meant`: what it means by that, if that is another (meant_status); 0: it is not.
base::Error reported_error(const Target& target, int status, std::string_view words, int meant = 0);

// An error that an upstream says inside a stream or a 200, whatever status it names (0: none).
base::Error stream_error(const Target& target, int status, std::string_view words);

// The status that an error reply means, which is not always HTTP's: some providers answer 400 to a key that
// they do not know, and say so in a field. 401 (the key is wrong) and 403 (it may not) by the fields `code`,
// `type`, `status` and `reason` of the error, as each protocol has them; else `http_status`. Pure.
int meant_status(int http_status, std::string_view body);

// Gives `error` the code that its provider says in a field, if clients know that one and it fits to the
// status, and a 400 also the field that it is about, unless that has a secret of `target`. `said`: the object
// with the fields. Pure.
void name_cause(const Target& target, base::Error& error, const Json& node);
void name_cause(const Target& target, base::Error& error, std::string_view body);

}  // namespace millrace::providers
