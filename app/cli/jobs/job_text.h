#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// Jobs as a person reads them.
namespace millrace::cli {

// One line per field, the usual questions first (what, how it stands, when), links last; every line ends.
std::string job_text(const nlohmann::json& job);

// Why a queued job has not begun, or waits for its next attempt: its queue is paused, or by the last of its
// events (null: not known); empty for a job that is not queued. `now`: an RFC 3339 time as the gateway writes
// them.
std::string waiting_text(const nlohmann::json& job, const nlohmann::json& last_event, std::string_view now);

// It waits because no job of its kind is begun, and what to say of that.
bool is_held(const nlohmann::json& job);
std::string paused_text(const nlohmann::json& job);
// It waits because no worker serves its kind at the moment, and what to say of that.
bool is_unserved(const nlohmann::json& job);
std::string unserved_text(const nlohmann::json& job);

// "MESSAGE (CODE)" of {code, message}; of anything else, all of it.
std::string error_text(const nlohmann::json& error);

// A line of a list, without a line end: id, status, progress, the second in which it was made, model, its
// name, cut, and the code of its error; "-" where there is none. And the line above.
std::string job_row(const nlohmann::json& job);
std::string job_header();

// "3/12"; "-" where nothing is known.
std::string progress_text(const nlohmann::json& job);

}  // namespace millrace::cli
