#pragma once
#include <string_view>

#include "ai/inference/routing/registry.h"
#include "schemas/error_body.h"

namespace millrace::api {

// Replaces the error "there is no model `model`" if that model exists but does something else. The result is
// 400 with the message that provider models get. `work`: the requested operation, such as "transcribe
// recordings". Any other error is returned unchanged.
schemas::Refusal wrong_model_error(const inference::Registry& registry, std::string_view model,
                                   std::string_view work, schemas::Refusal refusal);
base::Error wrong_model_error(const inference::Registry& registry, std::string_view model,
                              std::string_view work, base::Error error);

}  // namespace millrace::api
