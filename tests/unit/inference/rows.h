#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ai/inference/routing/registry.h"
#include "schemas/chat/chat_request.h"

namespace millrace::inference::testing {

inline ModelRow row(const std::string& name, const std::string& provider = "mock") {
  ModelRow row;
  row.target.name = name;
  row.target.preset = providers::preset_named(provider);
  row.target.model = name.substr(name.find('/') + 1);
  return row;
}

// One model whose provider has this address. Without `abilities`, the name determines them.
inline ModelSettings only_model(const std::string& name, const std::string& provider,
                                const std::string& base_url, std::vector<Ability> abilities = {}) {
  ModelSettings settings;
  settings.models = {row(name, provider)};
  settings.models.front().target.base_url = base_url;
  settings.models.front().abilities = std::move(abilities);
  return settings;
}

inline providers::Target open_provider(const std::string& provider) {
  providers::Target target;
  target.preset = providers::preset_named(provider);
  target.base_url = target.preset->base_url;
  return target;
}

inline ModelSettings models(std::vector<ModelRow> rows) {
  ModelSettings settings;
  settings.models = std::move(rows);
  return settings;
}

inline RegistryPtr registry(ModelSettings settings) {
  return std::make_shared<const Registry>(std::move(settings));
}

inline schemas::ChatRequest request(const std::string& model, const std::string& text = "hello there") {
  schemas::ChatRequest request;
  request.models = {model};
  request.body = {{"messages", {{{"role", "user"}, {"content", text}}}}};
  return request;
}

inline schemas::ChatRequest streamed(schemas::ChatRequest request) {
  request.stream = true;
  return request;
}

inline schemas::Json tool(const std::string& name) {
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"parameters", {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}}}}}};
}

}  // namespace millrace::inference::testing
