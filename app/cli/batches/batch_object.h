#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"
#include "app/cli/progress.h"

// The batch object of the API, as the commands show it.
namespace millrace::cli {

std::string path_of_batch(const std::string& batch);
// True for a status with which a batch has ended.
bool is_batch_end(std::string_view status);
// How far it is; `state` is empty while its requests run.
Tally tally_of(const nlohmann::json& batch);
// "$0.0123"; empty if it has cost nothing.
std::string cost_text(const nlohmann::json& batch);

// The table of `batch ls`: the head, and the line of one batch.
std::string batch_head();
std::string batch_row(const nlohmann::json& batch);
// All fields, one per line.
std::string batch_fields_text(const nlohmann::json& batch);

// What is wrong with its input, one line per error: "requests.jsonl:17: … (invalid_json)". Empty: nothing is.
std::string input_errors_text(const nlohmann::json& batch, const std::string& input);

// "batch_… goes on; cancel it with `millrace batch cancel batch_…`", for the line about a CutOff.
std::string batch_goes_on_text(const std::string& batch, const ClientOptions& options);

}  // namespace millrace::cli
