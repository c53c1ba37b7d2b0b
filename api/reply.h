#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "api/front/exchange.h"
#include "platform/base/result.h"
#include "schemas/error_body.h"

namespace millrace::api {

inline constexpr std::string_view kJson = "application/json";

// Replies up to this size do not use http.reply_budget, so that a few slow readers of large replies cannot
// block all other clients.
inline constexpr std::size_t kSmallReply = std::size_t{64} << 10;
// 503: http.reply_budget is exhausted.
base::Error reply_budget_exhausted();

front::Reply json_reply(int status, std::string body);
// No body and no Content-Type (202 of a pending result, 204).
front::Reply empty_reply(int status);
void add_header(front::Reply& reply, std::string_view name, std::string_view value);

// The error in the format of its path, with the headers that clients use (docs/design/http-contract.md §0):
// WWW-Authenticate with 401; retry-after-ms (below 60000) and retry-after if a wait is known; x-should-retry:
// false if a retry cannot succeed.
front::Reply error_reply(std::string_view path, const base::Error& error,
                         const schemas::Problems& problems = {});
// An error that a retry cannot resolve, whatever its status (x-should-retry: false): a stored failure of a
// job, or the end of a wait while the job continues.
front::Reply permanent_failure(std::string_view path, const base::Error& error);

}  // namespace millrace::api
