#pragma once
#include <string>
#include <string_view>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"
#include "platform/base/result.h"

// Converts errors of upstreams into errors for clients.
namespace millrace::providers {

inline constexpr std::size_t kUpstreamTextMax = 1024;  // bytes

// `text` on one line, cut at kUpstreamTextMax; everything that looks like a key, and the
// query and fragment of each URL, is replaced by "***".
std::string upstream_text(std::string_view text);

// `words` with the key and the values of the operator's headers masked. For credentials, the value without
// its scheme is masked too.
std::string masked(const Target& target, std::string_view words);

// The error for `status` of this upstream, by the table at upstream_error. `words`: from upstream_text, or
// empty. `meant`: the status that it actually means (effective_status), if different; 0: the same.
base::Error reported_error(const Target& target, int status, std::string_view words, int meant = 0);

// An error reported inside a stream or a 200 response. `status`: the status that it names; 0: none.
base::Error stream_error(const Target& target, int status, std::string_view words);
// The model ended its answer with a reason that makes it unusable; a fault of the content.
base::Error failed_answer(const Target& target, std::string_view reason);

// The status that an error reply actually means. It may differ from the HTTP status: some providers answer an
// unknown key with 400 and give the cause in a field. Returns 401 (wrong key) or 403 (key lacks permission)
// by the fields `code`, `type`, `status` and `reason` of the error, as each protocol has them; the status of
// what a provider says in words (an account without credit, a refused input); otherwise `http_status`. Pure.
int effective_status(int http_status, std::string_view body);

// Sets the code of `error` to the cause that the provider gives in a field, if clients know that code and it
// fits the status. For a 400 also sets the field that the error is about, unless it contains a secret of
// `target`. `node`: the object with the fields. Pure.
void set_error_cause(const Target& target, base::Error& error, const Json& node);
void set_error_cause(const Target& target, base::Error& error, std::string_view body);

}  // namespace millrace::providers
