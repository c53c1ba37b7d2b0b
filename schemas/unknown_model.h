#pragma once
#include <string_view>

#include "platform/base/result.h"

namespace millrace::schemas {

// The end of every error about a model that does not exist.
inline constexpr std::string_view kModelsHint = "GET /v1/models lists the models";

// kModelNotFound, with kModelsHint. `near`: the nearest name; empty: none. `why`: why the name means nothing
// here; empty: not known.
base::Error unknown_model(std::string_view name, std::string_view near, std::string_view why = {});

}  // namespace millrace::schemas
