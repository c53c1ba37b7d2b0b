#pragma once
#include <string>
#include <vector>

#include "app/settings.h"

namespace millrace::app {

// How one server of models answers.
struct ProviderFinding {
  std::string detail;  // "openai at https://…: 61 models"
  std::string advice;  // empty: it is well
};
// Asks each server that the configuration and the environment name for its list of models, once, and looks
// for an Ollama on its usual port. Blocks: some seconds for each that does not answer.
std::vector<ProviderFinding> check_providers(const inference::ModelSettings& models);

}  // namespace millrace::app
