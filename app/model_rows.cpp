#include "app/model_rows.h"

#include <algorithm>
#include <array>

#include "platform/base/nearest.h"

namespace millrace::app {
namespace {

using base::ConfigNode;
using inference::Ability;
using inference::ModelRow;

constexpr std::array<std::string_view, 13> kModelKeys{
    "name",   "provider", "model",  "base_url",  "api_key",    "headers",        "fallbacks",
    "weight", "price",    "limits", "abilities", "output_max", "response_format"};
constexpr std::array<std::string_view, 3> kPriceKeys{"prompt", "completion", "cached"};
constexpr std::array<std::string_view, 3> kLimitKeys{"concurrent", "requests_per_minute",
                                                     "tokens_per_minute"};
constexpr double kDollarsMax = 1'000'000;
constexpr std::int64_t kCountMax = 1'000'000'000;
constexpr std::int64_t kWeightMax = 1'000'000;
constexpr std::size_t kModelNameMax = 200;

struct AbilityName {
  std::string_view name;
  Ability ability;
};
constexpr std::array kAbilities{AbilityName{"chat", Ability::kChat},
                                AbilityName{"embeddings", Ability::kEmbeddings},
                                AbilityName{"images", Ability::kImages},
                                AbilityName{"audio", Ability::kAudio}, AbilityName{"ocr", Ability::kOcr}};

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kModelNameMax &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

// One row, key by key.
class ModelReader {
 public:
  ModelReader(const ConfigNode& node, const ProviderEntries& entries, const ModelGround& ground,
              Mistakes& mistakes)
      : entries_(entries), ground_(ground), mistakes_(mistakes), map_(node, "models", kModelKeys, mistakes) {}

  ModelRow read() {
    if (!map_.is_map()) return std::move(row_);
    read_names();
    if (row_.target.preset != nullptr) read_place();
    read_price();
    read_limits();
    read_abilities();
    if (auto fallbacks = map_.words("fallbacks")) row_.fallbacks = *std::move(fallbacks);
    if (auto weight = map_.whole("weight", 1, kWeightMax)) row_.weight = static_cast<int>(*weight);
    row_.target.output_max = map_.whole("output_max", 1, kCountMax);
    if (auto flag = map_.flag("response_format")) row_.target.response_format = *flag;
    row_.target.timeouts = ground_.timeouts;
    return std::move(row_);
  }

 private:
  void read_names() {
    row_.target.name = map_.text("name").value_or("");
    if (!is_name(row_.target.name))
      map_.mistake("name", "is what clients ask for, as in openai/gpt-4.1: 1 to 200 characters, no spaces");
    const auto provider = map_.text("provider");
    if (!provider) return map_.mistake("provider", "is missing: openai, anthropic, gemini, ollama …");
    row_.target.preset = read_preset(map_, "provider", *provider);
    const std::string& name = row_.target.name;
    row_.target.model = map_.text("model").value_or(name.substr(name.find('/') + 1));
  }

  // A key belongs to its server: one that is named here without a key gets none.
  void read_place() {
    const providers::Preset& preset = *row_.target.preset;
    row_.target.response_format = preset.response_format;
    if (preset.family == providers::Family::kMock) return;
    const auto entry = entries_.find(std::string(preset.name));
    const bool known = entry != entries_.end();
    row_.target.base_url = known ? entry->second.base_url : std::string(preset.base_url);
    row_.target.key = known ? entry->second.key : ground_.keys.variable(std::string(preset.key_variable));
    if (known) row_.target.headers = entry->second.headers;
    const auto url = read_base_url(map_);
    if (url) {
      row_.target.base_url = *url;
      row_.target.key = {};
      row_.target.headers = {};
    }
    if (map_.find("headers") != nullptr) row_.target.headers = read_headers(map_, ground_.keys, mistakes_);
    const bool key_named = map_.find("api_key") != nullptr;
    if (auto key = read_key(map_, ground_.keys, mistakes_)) row_.target.key = *std::move(key);
    if (row_.target.base_url.empty())
      return map_.mistake("base_url",
                          "is missing: provider " + std::string(preset.name) + " has none of its own");
    if (!url && !known && !key_named && preset.key_required && row_.target.key.empty())
      warn("api_key", "is missing, and the environment has no " + std::string(preset.key_variable));
  }

  void warn(std::string_view key, const std::string& why) {
    mistakes_.push_back({map_.place(key), "models." + std::string(key) + ": " + why, false});
  }

  void read_price() {
    const ConfigNode* node = map_.find("price");
    if (node == nullptr) return;
    SectionMap map(*node, "models.price", kPriceKeys, mistakes_);
    if (!map.is_map()) return;
    inference::Price price;
    price.prompt = map.number("prompt", 0, kDollarsMax).value_or(0);
    price.completion = map.number("completion", 0, kDollarsMax).value_or(0);
    price.cached = map.number("cached", 0, kDollarsMax);
    row_.price = price;
  }

  void read_limits() {
    const ConfigNode* node = map_.find("limits");
    if (node == nullptr) return;
    SectionMap map(*node, "models.limits", kLimitKeys, mistakes_);
    if (!map.is_map()) return;
    const auto count = [&](std::string_view key) { return map.whole(key, 0, kCountMax).value_or(0); };
    row_.limits.concurrent = static_cast<int>(count("concurrent"));
    row_.limits.requests_per_minute = static_cast<int>(count("requests_per_minute"));
    row_.limits.tokens_per_minute = count("tokens_per_minute");
  }

  void read_abilities() {
    const auto words = map_.words("abilities");
    if (!words) return;
    for (const std::string& word : *words) {
      const auto* found = std::ranges::find(kAbilities, word, &AbilityName::name);
      if (found == kAbilities.end())
        return map_.mistake("abilities", "\"" + word + "\" is none of chat, embeddings, images, audio, ocr");
      row_.abilities.push_back(found->ability);
    }
  }

  const ProviderEntries& entries_;
  const ModelGround& ground_;
  Mistakes& mistakes_;
  SectionMap map_;
  ModelRow row_;
};

}  // namespace

const providers::Preset* read_preset(SectionMap& map, std::string_view key, const std::string& name) {
  const providers::Preset* preset = providers::preset_named(name);
  if (preset != nullptr) return preset;
  std::vector<std::string_view> names;
  for (const providers::Preset& each : providers::presets()) names.push_back(each.name);
  const std::string_view near = base::nearest(name, names);
  map.mistake(key, "no provider \"" + name + "\"" +
                       (near.empty() ? "; a server that speaks its protocol is openai with a base_url"
                                     : "; did you mean " + std::string(near) + "?"));
  return nullptr;
}

ModelRow read_model(const ConfigNode& node, const ProviderEntries& entries, const ModelGround& ground,
                    Mistakes& mistakes) {
  return ModelReader(node, entries, ground, mistakes).read();
}

}  // namespace millrace::app
