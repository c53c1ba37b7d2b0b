#pragma once
#include <array>
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

// US dollars: per million tokens, or per unit. All absent: free.
struct Price {
  double prompt = 0, completion = 0;        // per million tokens, like the next three
  std::optional<double> cached = {};        // absent: the same as `prompt`
  std::optional<double> cache_write = {};   // absent: the same as `prompt`
  std::optional<double> reasoning = {};     // absent: the same as `completion`
  std::optional<double> image = {};         // per generated image
  std::optional<double> audio_second = {};  // per second of a transcribed recording
  std::optional<double> character = {};     // per character of spoken text
  std::optional<double> page = {};          // per page of a document that is read
  std::optional<double> request = {};       // per call

  bool by_tokens() const {  // some part of the cost is
    return prompt > 0 || completion > 0 || cached > 0.0 || cache_write > 0.0 || reasoning > 0.0;
  }
  bool by_units() const { return image > 0.0 || audio_second > 0.0 || character > 0.0 || page > 0.0; }
};

// The parts of a price that may be absent, by their names in the configuration.
struct PricePart {
  std::string_view name;
  std::optional<double> Price::*value;
  bool per_million;  // tokens; otherwise per unit
};
inline constexpr std::array kPriceParts{PricePart{"cached", &Price::cached, true},
                                        PricePart{"cache_write", &Price::cache_write, true},
                                        PricePart{"reasoning", &Price::reasoning, true},
                                        PricePart{"image", &Price::image, false},
                                        PricePart{"audio_second", &Price::audio_second, false},
                                        PricePart{"character", &Price::character, false},
                                        PricePart{"page", &Price::page, false},
                                        PricePart{"request", &Price::request, false}};

// 0: no limit.
struct ModelLimits {
  int concurrent = 0;
  int requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
};

enum class Ability : std::uint8_t { kChat, kEmbeddings, kImages, kAudio, kOcr };

// One row of the section `models`. Rows with the same name form one model with several targets, chosen by
// weight.
struct ModelRow {
  providers::Target target;
  std::vector<std::string> fallbacks;  // names
  int weight = 1;
  std::optional<Price> price;
  ModelLimits limits;
  std::vector<Ability> abilities;  // empty: derived from the provider and the model's name
};

struct McpSlug {
  std::string slug, url, version;
  std::vector<std::pair<std::string, std::string>> headers;  // may contain a secret: never shown
};

// All settings of inference. Keys from the environment are in `open_providers`.
struct ModelSettings {
  std::vector<ModelRow> models;
  // Providers with a key in the environment. Each of their models is reachable as `<provider>/<model>`.
  std::vector<providers::Target> open_providers;  // `name` and `model` empty
  std::map<std::string, std::string> aliases;  // prefix → provider: provider-a → openai, provider-b → gemini
  std::vector<McpSlug> mcp_slugs;
  std::map<std::string, Price, std::less<>> local_prices;  // of the engines of this gateway: millrace/ocr …
  std::string default_image_model;                         // of requests without one; empty: not set
  bool mock = false;                                       // mock/chat, mock/embedding, mock/image
};

// A model that clients may request.
struct Model {
  std::string name;
  std::vector<ModelRow> rows;  // at least one
};
using ModelPtr = std::shared_ptr<const Model>;

// The available models. Immutable; a reload creates a new registry. Thread-safe.
class Registry {
 public:
  explicit Registry(ModelSettings settings);

  // Finds a model by name, alias or `<provider>/<model>` of an open provider. kModelNotFound: the message
  // names the nearest name; its param is "model".
  base::Result<ModelPtr> find(std::string_view name) const;
  // The same, but nullptr instead of an error.
  ModelPtr look_up(std::string_view name) const;
  const std::vector<ModelPtr>& configured() const { return models_; }
  const ModelSettings& settings() const { return settings_; }
  const McpSlug* slug(std::string_view name) const;
  // The price of a local model, such as millrace/ocr. Without one in the configuration it is free.
  Price local_price(std::string_view name) const;

 private:
  ModelSettings settings_;
  std::vector<ModelPtr> models_;  // in the order of the file, then the mock models
};
using RegistryPtr = std::shared_ptr<const Registry>;

}  // namespace millrace::inference
