#include "app/models_section.h"

#include <algorithm>
#include <utility>

#include "app/model_rows.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

// Those of the file, and those whose key is in the environment.
std::vector<providers::Target> open_providers(ProviderEntries entries, const ModelGround& ground) {
  std::vector<providers::Target> out;
  for (const providers::Preset& preset : providers::presets()) {
    const std::string name(preset.name);
    if (const auto entry = entries.find(name); entry != entries.end()) {
      out.push_back(std::move(entry->second));
      continue;
    }
    base::Secret key = ground.keys.variable(std::string(preset.key_variable));
    if (preset.base_url.empty() || key.empty()) continue;
    providers::Target target;
    target.preset = &preset;
    target.base_url = preset.base_url;
    target.key = std::move(key);
    target.response_format = preset.response_format;
    target.timeouts = ground.timeouts;
    out.push_back(std::move(target));
  }
  return out;
}

void read_rows(const ConfigNode& section, const ProviderEntries& entries, const ModelGround& ground,
               ModelsSection& out) {
  if (section.kind == ConfigNode::Kind::kNone) return;
  if (section.kind != ConfigNode::Kind::kList) {
    out.mistakes.push_back(
        {section.place, "models: a list is expected here, as in `- name: openai/gpt-4.1`"});
    return;
  }
  const auto fatal = [&] {
    return std::ranges::count_if(out.mistakes, [](const auto& mistake) { return mistake.fatal; });
  };
  for (const ConfigNode& node : section.items) {
    const auto before = fatal();
    inference::ModelRow row = read_model(node, entries, ground, out.mistakes);
    if (fatal() != before) continue;
    out.settings.models.push_back(std::move(row));
    out.places.push_back(node.place);
  }
}

void check_fallbacks(ModelsSection& out) {
  const inference::Registry registry(out.settings);
  for (std::size_t i = 0; i < out.settings.models.size(); ++i) {
    for (const std::string& name : out.settings.models[i].fallbacks) {
      const auto found = registry.find(name);
      if (!found) out.mistakes.push_back({out.places[i], "models.fallbacks: " + found.error().message});
    }
  }
}

}  // namespace

ModelsSection read_models(const ModelNodes& nodes, const std::map<std::string, std::string>& environment,
                          const providers::Target::Timeouts& timeouts) {
  ModelsSection out;
  const KeySource keys(environment);
  const ModelGround ground{keys, timeouts};
  ProviderEntries entries = read_providers(nodes.providers, ground, out.mistakes);
  out.settings.mock = nodes.mock;
  out.settings.aliases = read_aliases(nodes.aliases, out.mistakes);
  out.settings.mcp_slugs = read_mcp(nodes.mcp, keys, out.mistakes);
  read_rows(nodes.models, entries, ground, out);
  out.settings.open_providers = open_providers(std::move(entries), ground);
  check_fallbacks(out);
  return out;
}

}  // namespace millrace::app
