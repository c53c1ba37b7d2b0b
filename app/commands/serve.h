#pragma once
#include <string>

#include "ai/inference/routing/registry.h"

namespace millrace::app {

// A model that a newcomer can chat with, by the configuration alone: the mock, else the first that is named
// and said to chat or to do nothing in particular; empty: none.
std::string model_to_try(const inference::ModelSettings& models);

}  // namespace millrace::app
