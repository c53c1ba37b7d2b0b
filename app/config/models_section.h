#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/routing/registry.h"
#include "app/config/key_source.h"
#include "app/config/section_map.h"
#include "platform/base/config.h"

// The parts of the sections of models, one each.
namespace millrace::app {

using Mistakes = std::vector<base::ConfigMistake>;
using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

// The entries of `providers`, by name: where they are.
using ProviderEntries = std::map<std::string, providers::Target>;

// What every reader here needs.
struct ModelDependencies {
  const KeySource& keys;
  const providers::Target::Timeouts& timeouts;
};

bool is_http_url(std::string_view text);
// The known provider of that name; null and a mistake: there is none.
const providers::Preset* read_preset(SectionMap& map, std::string_view key, const std::string& name);
// Header lines of a map: a value may be env:NAME or file:PATH.
HeaderPairs read_headers(SectionMap& map, const KeySource& keys, Mistakes& mistakes);
// `api_key`: a warning where it says what is not there.
std::optional<base::Secret> read_key(SectionMap& map, const KeySource& keys, Mistakes& mistakes);
// `base_url`, without its slash; a mistake if it is no URL.
std::optional<std::string> read_base_url(SectionMap& map);

ProviderEntries read_providers(const base::ConfigNode& section, const ModelDependencies& dependencies,
                               Mistakes& mistakes);
std::map<std::string, std::string> read_aliases(const base::ConfigNode& section, Mistakes& mistakes);
std::vector<inference::McpSlug> read_mcp(const base::ConfigNode& section, const KeySource& keys,
                                         Mistakes& mistakes);
// One row of `models`; what is wrong with it is in `mistakes`.
inference::ModelRow read_model(const base::ConfigNode& node, const ProviderEntries& entries,
                               const ModelDependencies& dependencies, Mistakes& mistakes);

// The sections of the configuration file that say which models there are (docs/README.md).
struct ModelNodes {
  const base::ConfigNode& models;     // a list: one target each
  const base::ConfigNode& providers;  // by name: where they are; every model of theirs can be asked for
  const base::ConfigNode& aliases;    // another word for a provider's: its name
  const base::ConfigNode& mcp;        // a list: servers of tools that clients call by a slug
  bool mock = false;                  // setting `mock`: mock/* may be fallbacks
};

struct ModelsSection {
  inference::ModelSettings settings;          // the right ones
  std::vector<std::string> places;            // where each of settings.models begins: "millrace.yaml:12"
  std::vector<base::ConfigMistake> mistakes;  // each with its line; a key that is not there is none that ends
};

// `environment`: where `env:NAME` and the well-known key variables are looked up. `file:PATH` is read.
// `timeouts` are every target's. Blocks on the disk.
ModelsSection read_models(const ModelNodes& nodes, const std::map<std::string, std::string>& environment,
                          const providers::Target::Timeouts& timeouts);

}  // namespace millrace::app
