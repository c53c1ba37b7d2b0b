#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

// Models as a person reads them.
namespace millrace::cli {

// One line of `models ls`, without its end, and the one above them.
std::string model_row(const nlohmann::json& model);
std::string model_header();

// One line per field, what it can do as words; every line ends.
std::string model_text(const nlohmann::json& model);

bool can(const nlohmann::json& model, const char* capability);

// `millrace models …`: a table, or a line of JSON each with --json. Each returns an ExitCode.
int models_ls(ClientOptions options);
int models_show(const std::string& name, ClientOptions options);

// The names of the models that chat; with an exit code that is not kOk its reason is on stderr.
struct ChatModels {
  int exit_code = kOk;
  std::vector<std::string> names;
};
ChatModels chat_models(Client& client);

// What to say where one model has to be named, and there is none or more than one; every line ends.
std::string choice_text(const std::vector<std::string>& names, const ClientOptions& options);
// What to do about a name that no model has; a line.
std::string models_advice(const ClientOptions& options);

}  // namespace millrace::cli
