#pragma once
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "ai/providers/families.h"
#include "ai/providers/json_access.h"

namespace millrace::providers {

// Clients send earlier replies back as history, with all members that a reply can have. This is what happens
// to each of them.

HistoryPlace history_place(const Json& message);  // by its role

// The members of a part that have a source (HistoryPlace::kSource).
inline constexpr std::array<std::string_view, 3> kSourceMembers{"image_url", "input_audio", "file"};

// The name in the report of dropped parameters: "messages.name", "messages.tool_calls.extra_content",
// "tools.cache_control".
std::string history_name(HistoryPlace place, std::string_view member);

// Null, empty text, an empty list or object: leaving it out loses nothing.
bool is_nothing(const Json& value);

// Calls `report` for each member of a message, its parts and its calls that `dialect` leaves out.
void report_left_out(Dialect dialect, const Json& message,
                     const std::function<void(const std::string& name)>& report);
// The same for the list of a request's tools; null: none.
void report_left_out_of_tools(Dialect dialect, const Json* tools,
                              const std::function<void(const std::string& name)>& report);

}  // namespace millrace::providers
