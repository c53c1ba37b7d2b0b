#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

// Machines as a person reads them.
namespace millrace::cli {

// One line of `machines ls`, without its end, and the one above them.
std::string machine_row(const nlohmann::json& machine);
std::string machine_header();

// One line per field, what its status says among them; every line ends.
std::string machine_text(const nlohmann::json& machine);

}  // namespace millrace::cli
