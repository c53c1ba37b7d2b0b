#include "ai/inference/routing/registry.h"

#include <algorithm>
#include <utility>

#include "platform/base/nearest.h"
#include "schemas/unknown_model.h"

namespace millrace::inference {
namespace {

ModelRow mock_row(std::string_view what, Ability ability) {
  ModelRow row;
  row.target.name = "mock/" + std::string(what);
  row.target.preset = providers::preset_named("mock");
  row.target.model = what;
  row.target.response_format = true;
  row.abilities = {ability};
  return row;
}

struct Parted {
  std::string_view prefix, rest;
};
Parted parted(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {{}, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::string joined(std::string_view prefix, std::string_view rest) {
  return std::string(prefix).append("/").append(rest);
}

// The name and its variants by the aliases of its prefix: provider-a/x ⇔ openai/x.
std::vector<std::string> also_called(const ModelSettings& settings, std::string_view name) {
  std::vector<std::string> names{std::string(name)};
  const auto [prefix, rest] = parted(name);
  for (const auto& [alias, provider] : settings.aliases) {
    if (alias == prefix) names.push_back(joined(provider, rest));
    if (provider == prefix) names.push_back(joined(alias, rest));
  }
  return names;
}

ModelPtr named(const std::vector<ModelPtr>& models, std::string_view name) {
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const ModelPtr& model) { return model->name == name; });
  return found == models.end() ? nullptr : *found;
}

ModelPtr of_open_provider(const ModelSettings& settings, std::string_view name) {
  const auto [prefix, rest] = parted(name);
  if (prefix.empty() || rest.empty()) return nullptr;
  for (const providers::Target& open : settings.open_providers) {
    if (open.preset->name != prefix) continue;
    ModelRow row;
    row.target = open;
    row.target.name = name;
    row.target.model = rest;
    return std::make_shared<const Model>(Model{std::string(name), {std::move(row)}});
  }
  return nullptr;
}

base::Error unknown_model(const ModelSettings& settings, const std::vector<ModelPtr>& models,
                          std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(models.size());
  for (const ModelPtr& model : models) names.push_back(model->name);
  const auto [prefix, rest] = parted(name);
  const auto alias = settings.aliases.find(std::string(prefix));
  const providers::Preset* preset =
      providers::preset_named(alias == settings.aliases.end() ? prefix : alias->second);
  std::string why;
  if (preset != nullptr && !preset->key_variable.empty()) {
    why = "provider " + std::string(preset->name) + " has no key in " + std::string(preset->key_variable) +
          ", and no row of `models` has this name";
  }
  return schemas::unknown_model(name, base::nearest(name, names), why);
}

}  // namespace

Registry::Registry(ModelSettings settings) : settings_(std::move(settings)) {
  std::vector<ModelRow> rows = settings_.models;
  if (settings_.mock) {
    for (ModelRow& row :
         std::vector<ModelRow>{mock_row("chat", Ability::kChat), mock_row("embedding", Ability::kEmbeddings),
                               mock_row("image", Ability::kImages)}) {
      const auto same = [&](const ModelRow& other) { return other.target.name == row.target.name; };
      if (std::none_of(rows.begin(), rows.end(), same)) rows.push_back(std::move(row));
    }
  }
  std::vector<Model> models;
  for (ModelRow& row : rows) {
    const std::string name = row.target.name;
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const Model& model) { return model.name == name; });
    Model& model = found == models.end() ? models.emplace_back(Model{name, {}}) : *found;
    model.rows.push_back(std::move(row));
  }
  for (Model& model : models) models_.push_back(std::make_shared<const Model>(std::move(model)));
}

ModelPtr Registry::look_up(std::string_view name) const {
  if (ModelPtr model = named(models_, name)) return model;
  const std::vector<std::string> names = also_called(settings_, name);
  for (const std::string& called : names) {
    if (ModelPtr model = named(models_, called)) return model;
  }
  for (const std::string& called : names) {
    if (ModelPtr model = of_open_provider(settings_, called)) return model;
  }
  return nullptr;
}

base::Result<ModelPtr> Registry::find(std::string_view name) const {
  if (ModelPtr model = look_up(name)) return model;
  return unknown_model(settings_, models_, name);
}

Price Registry::local_price(std::string_view name) const {
  const auto found = settings_.local_prices.find(name);
  return found == settings_.local_prices.end() ? Price() : found->second;
}

const McpSlug* Registry::slug(std::string_view name) const {
  const auto found = std::find_if(settings_.mcp_slugs.begin(), settings_.mcp_slugs.end(),
                                  [&](const McpSlug& slug) { return slug.slug == name; });
  return found == settings_.mcp_slugs.end() ? nullptr : &*found;
}

}  // namespace millrace::inference
