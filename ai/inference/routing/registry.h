#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/provider.h"

namespace millrace::inference {

// US dollars per million tokens.
struct Price {
  double prompt = 0, completion = 0;
  std::optional<double> cached;  // absent: as prompt
};

// 0: no limit.
struct ModelLimits {
  int concurrent = 0;
  int requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
};

enum class Ability : std::uint8_t { kChat, kEmbeddings, kImages, kAudio, kOcr };

// One row of the section `models`. Several rows of one name are one model with several targets, chosen by
// weight.
struct ModelRow {
  providers::Target target;
  std::vector<std::string> fallbacks;  // names
  int weight = 1;
  std::optional<Price> price;
  ModelLimits limits;
  std::vector<Ability> abilities;  // empty: by the provider and the model's name
};

struct McpSlug {
  std::string slug, url, version;
  std::vector<std::pair<std::string, std::string>> headers;  // may hold a secret: never shown
};

// All that the configuration says of inference. The environment's keys are in `open_providers`.
struct ModelSettings {
  std::vector<ModelRow> models;
  // Providers whose every model is reachable as `<provider>/<model>`: their key is in the environment.
  std::vector<providers::Target> open_providers;  // `name` and `model` empty
  std::map<std::string, std::string> aliases;  // prefix → provider: provider-a → openai, provider-b → gemini
  std::vector<McpSlug> mcp_slugs;
  bool mock = false;  // mock/chat, mock/embedding, mock/image
};

// A model as clients may ask for it.
struct Model {
  std::string name;
  std::vector<ModelRow> rows;  // at least one
};
using ModelPtr = std::shared_ptr<const Model>;

// Which models there are. Immutable; a reload makes a new one. Thread-safe.
class Registry {
 public:
  explicit Registry(ModelSettings settings);

  // By name, alias or `<provider>/<model>` of an open provider. kModelNotFound names the nearest; param
  // "model".
  base::Result<ModelPtr> find(std::string_view name) const;
  // The same, nullptr if there is none: for those who only ask.
  ModelPtr look_up(std::string_view name) const;
  const std::vector<ModelPtr>& configured() const { return models_; }
  const ModelSettings& settings() const { return settings_; }
  const McpSlug* slug(std::string_view name) const;

 private:
  ModelSettings settings_;
  std::vector<ModelPtr> models_;  // in the order of the file, then the mock's
};
using RegistryPtr = std::shared_ptr<const Registry>;

}  // namespace millrace::inference
