#pragma once
#include <string>

#include "app/litellm_models.h"
#include "app/litellm_router.h"

namespace millrace::app {

// The file: YAML of ours, one value a line.
std::string imported_text(const std::string& file_name, const ImportedModels& models,
                          const ImportedRouting& routing);

}  // namespace millrace::app
