#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

// What happened to a job, as a person reads it.
namespace millrace::cli {

// "TIME  TYPE  SENTENCE", without a line end; what a command wrote has a line for each of its own. Members
// that no sentence is made of stand behind it by their names.
std::string event_text(const nlohmann::json& event);

}  // namespace millrace::cli
