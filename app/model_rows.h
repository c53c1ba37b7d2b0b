#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/registry.h"
#include "app/key_source.h"
#include "app/section_map.h"
#include "platform/base/config.h"

// The parts of the sections of models, one each.
namespace millrace::app {

using Mistakes = std::vector<base::ConfigMistake>;
using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

// The entries of `providers`, by name: where they are.
using ProviderEntries = std::map<std::string, providers::Target>;

// What every reader here needs.
struct ModelGround {
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

ProviderEntries read_providers(const base::ConfigNode& section, const ModelGround& ground,
                               Mistakes& mistakes);
std::map<std::string, std::string> read_aliases(const base::ConfigNode& section, Mistakes& mistakes);
std::vector<inference::McpSlug> read_mcp(const base::ConfigNode& section, const KeySource& keys,
                                         Mistakes& mistakes);
// One row of `models`; what is wrong with it is in `mistakes`.
inference::ModelRow read_model(const base::ConfigNode& node, const ProviderEntries& entries,
                               const ModelGround& ground, Mistakes& mistakes);

}  // namespace millrace::app
