#pragma once
#include <string>

#include "ai/inference/routing/registry.h"

namespace millrace::app {

// A model to suggest for a first chat, chosen from the configuration: the mock, else the first named model
// that is for chat or has no stated ability. Empty: none.
std::string suggested_model(const inference::ModelSettings& models);

}  // namespace millrace::app
