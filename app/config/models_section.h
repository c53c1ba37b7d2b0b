#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/routing/registry.h"
#include "app/config/key_source.h"
#include "app/config/section_map.h"
#include "platform/base/config.h"

// Readers of the parts of the model sections.
namespace millrace::app {

using Mistakes = std::vector<base::ConfigMistake>;
using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

// The entries of `providers`, by name.
using ProviderEntries = std::map<std::string, providers::Target>;

// What every reader needs.
struct ModelDependencies {
  const KeySource& keys;
  const providers::Target::Timeouts& timeouts;
};

bool is_http_url(std::string_view text);
bool is_model_name(std::string_view text);  // 1 to 200 printable characters without spaces
// The known provider of that name. Null, with a mistake: there is none.
const providers::Preset* read_preset(SectionMap& map, std::string_view key, const std::string& name);
// Reads headers from a map. A value may be env:NAME or file:PATH.
HeaderPairs read_headers(SectionMap& map, const KeySource& keys, Mistakes& mistakes);
// Reads `api_key`. If its reference leads to nothing, adds a warning.
std::optional<base::Secret> read_key(SectionMap& map, const KeySource& keys, Mistakes& mistakes);
// Reads `base_url` and removes a trailing slash. A mistake if it is not a URL.
std::optional<std::string> read_base_url(SectionMap& map);

ProviderEntries read_providers(const base::ConfigNode& section, const ModelDependencies& dependencies,
                               Mistakes& mistakes);
std::map<std::string, std::string> read_aliases(const base::ConfigNode& section, Mistakes& mistakes);
std::vector<inference::McpSlug> read_mcp(const base::ConfigNode& section, const KeySource& keys,
                                         Mistakes& mistakes);
// Reads one row of `models`. Adds what is wrong to `mistakes`.
inference::ModelRow read_model(const base::ConfigNode& node, const ProviderEntries& entries,
                               const ModelDependencies& dependencies, Mistakes& mistakes);

// The sections of the configuration file that define models (docs/README.md).
struct ModelNodes {
  const base::ConfigNode& models;     // a list: one target each
  const base::ConfigNode& providers;  // servers by name; all models of a provider can be requested
  const base::ConfigNode& aliases;    // alias of a provider: the provider's name
  const base::ConfigNode& mcp;        // a list: MCP servers that clients select by slug
  bool mock = false;                  // setting `mock`: mock/* may be a fallback
  // Names of stt.models: a row of `models` may set their prices.
  std::span<const std::string> local_models = {};
};

struct ModelsSection {
  inference::ModelSettings settings;  // the valid ones
  // Where each row of settings.models begins: "millrace.yaml:12".
  std::vector<std::string> places;
  std::vector<base::ConfigMistake> mistakes;  // each with its line; a missing key is not fatal
};

// `environment`: resolves `env:NAME` and the well-known key variables. Files of `file:PATH` are read.
// `timeouts` apply to every target. Blocks on the disk.
ModelsSection read_models(const ModelNodes& nodes, const std::map<std::string, std::string>& environment,
                          const providers::Target::Timeouts& timeouts);

}  // namespace millrace::app
