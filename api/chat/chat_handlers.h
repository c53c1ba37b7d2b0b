#pragma once
#include <string_view>

#include "ai/inference/routing/registry.h"
#include "schemas/error_body.h"

namespace millrace::api {

// A refusal that says that there is no model `asked`, where there is one that does something else: then 400,
// in the words that the models of providers are refused with. `work`: what was wanted of it, "hear
// recordings". Any other refusal stays as it is.
schemas::Refusal of_wrong_model(const inference::Registry& registry, std::string_view asked,
                                std::string_view work, schemas::Refusal refusal);
base::Error of_wrong_model(const inference::Registry& registry, std::string_view asked, std::string_view work,
                           base::Error error);

}  // namespace millrace::api
