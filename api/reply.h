#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "api/front/exchange.h"
#include "platform/base/result.h"
#include "schemas/error_body.h"

namespace millrace::api {

inline constexpr std::string_view kJson = "application/json";

// Replies up to this take nothing of http.reply_budget: few slow readers of large ones must not keep everyone
// from theirs.
inline constexpr std::size_t kSmallReply = std::size_t{64} << 10;
// 503: http.reply_budget has no room.
base::Error replies_full();

front::Reply json_reply(int status, std::string body);
// No body and no Content-Type (202 of a pending result, 204).
front::Reply empty_reply(int status);
void add_header(front::Reply& reply, std::string_view name, std::string_view value);

// The error in the shape that its path speaks, with the headers that clients go by
// (docs/design/http-contract.md §0): WWW-Authenticate on 401; retry-after-ms (below 60000) and retry-after
// where a wait is known; x-should-retry: false where a retry cannot help.
front::Reply error_reply(std::string_view path, const base::Error& error,
                         const schemas::Problems& problems = {});
// An error that no retry of the request can help, whatever its class (x-should-retry: false): the failure
// that a job has stored, a wait that is over while its job goes on.
front::Reply lasting_failure(std::string_view path, const base::Error& error);

}  // namespace millrace::api
