#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"

// Opaque page cursors: what they hold may change, that they are opaque does not.
namespace millrace::api {

inline constexpr int kPageDefault = 50;
inline constexpr int kPageMax = 200;

std::string job_cursor(const base::Uuid& before);
std::optional<base::Uuid> job_cursor_of(std::string_view text);
std::string event_cursor(std::int64_t after_version);
std::optional<std::int64_t> event_cursor_of(std::string_view text);

}  // namespace millrace::api
