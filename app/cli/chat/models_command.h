#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

// Models as text for people.
namespace millrace::cli {

// A row of `models ls` and the header row, without a newline.
std::string model_row(const nlohmann::json& model);
std::string model_header();

// One line per field, capabilities as words. Every line ends with a newline.
std::string model_text(const nlohmann::json& model);

bool can(const nlohmann::json& model, const char* capability);

// `millrace models …`. Prints a table, or with --json one JSON object per line. Each function returns an
// ExitCode.
int models_ls(ClientOptions options);
int models_show(const std::string& name, ClientOptions options);

// The names of the chat models. If `exit_code` is not kOk, the reason was printed to stderr.
struct ChatModels {
  int exit_code = kOk;
  std::vector<std::string> names;
};
ChatModels chat_models(Client& client);

// The text for a user who has to name a model because there is none or more than one. Every line ends with a
// newline.
std::string choice_text(const std::vector<std::string>& names, const ClientOptions& options);
// Advice for an unknown model name; one line.
std::string models_advice(const ClientOptions& options);

}  // namespace millrace::cli
