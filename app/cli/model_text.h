#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

// Models as a person reads them.
namespace millrace::cli {

// One line of `models ls`, without its end, and the one above them.
std::string model_row(const nlohmann::json& model);
std::string model_header();

// One line per field, what it can do as words; every line ends.
std::string model_text(const nlohmann::json& model);

bool can(const nlohmann::json& model, const char* capability);

}  // namespace millrace::cli
