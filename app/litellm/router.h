#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/config.h"

namespace millrace::app {

// What LiteLLM's litellm_settings and router_settings say of all models.
struct ImportedRouting {
  std::map<std::string, std::vector<std::string>> fallbacks;  // by the model's name
  std::vector<std::string> default_fallbacks;                 // of models without their own
  std::map<std::string, std::string> aliases;                 // another name of a model
  std::optional<int> tries;
  std::string total_timeout;  // "600s"; empty: not said
};

// `router` counts before `litellm`, as it does there.
ImportedRouting import_routing(const base::ConfigNode& router, const base::ConfigNode& litellm,
                               std::vector<std::string>& notes);

}  // namespace millrace::app
