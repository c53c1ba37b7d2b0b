#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

// Jobs and their events as a person reads them.
namespace millrace::cli {

// One line per field, the usual questions first (what, how it stands, when), links last; every line ends.
std::string job_text(const nlohmann::json& job);

// "TIME  TYPE  WHAT", without a line end.
std::string event_text(const nlohmann::json& event);

// "3/12"; "-" where nothing is known.
std::string progress_text(const nlohmann::json& job);

}  // namespace millrace::cli
