#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/config.h"

namespace millrace::app {

// The settings for all models from LiteLLM's litellm_settings and router_settings.
struct ImportedRouting {
  std::map<std::string, std::vector<std::string>> fallbacks;  // by model name
  // For models without fallbacks of their own.
  std::vector<std::string> default_fallbacks;
  std::map<std::string, std::string> aliases;  // alias of a model: its name
  std::optional<int> tries;
  std::string total_timeout;  // "600s"; empty: not specified
};

// `router` takes precedence over `litellm`, as in LiteLLM.
ImportedRouting import_routing(const base::ConfigNode& router, const base::ConfigNode& litellm,
                               std::vector<std::string>& notes);

}  // namespace millrace::app
