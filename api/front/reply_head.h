#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "api/front/exchange.h"

namespace millrace::front {

// How the body of a reply is delimited.
enum class BodyFraming { kLength, kChunked, kUntilClose, kNone };
enum class ConnectionHeader { kNone, kClose, kKeepAlive };

// The status line and headers of a reply, including the empty line. Headers of `reply` that could break the
// framing are left out: those with an invalid name, a control character in the value, or a name that this
// function writes itself.
std::string reply_head(const Reply& reply, BodyFraming framing, std::size_t content_length,
                       ConnectionHeader connection, std::chrono::system_clock::time_point now);

// True for statuses that never have a body: 1xx, 204, 304.
bool is_bodiless(int status);

}  // namespace millrace::front
