#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

// waiting_text of a queued job, by the last of its events, which it asks for: the pages of a history up to a
// bound. Empty for a job that is not queued.
std::string why_it_waits(Client& client, const nlohmann::json& job);

}  // namespace millrace::cli
