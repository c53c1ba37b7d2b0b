#include "app/config/models_section.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "platform/base/nearest.h"
#include "platform/base/net_address.h"
#include "schemas/media/local_transcription.h"
#include "schemas/media/ocr.h"
#include "schemas/media/speech.h"

namespace millrace::app {
namespace {

using base::ConfigNode;
using inference::Ability;
using inference::ModelRow;

constexpr std::array<std::string_view, 16> kModelKeys{
    "name",  "provider", "model",     "base_url",  "api_key",    "headers",         "fallbacks",  "weight",
    "price", "limits",   "abilities", "input_max", "output_max", "response_format", "media_urls", "vision"};
constexpr std::array<std::string_view, 2> kLocalModelKeys{"name", "price"};
constexpr std::array kLocalModels{schemas::kOcrModel, schemas::kMoonshineModel, schemas::kSphinxModel,
                                  schemas::kSpeechModel};
constexpr auto kPriceKeys = [] {
  std::array<std::string_view, 2 + inference::kPriceParts.size()> keys{"prompt", "completion"};
  std::ranges::transform(inference::kPriceParts, keys.begin() + 2, &inference::PricePart::name);
  return keys;
}();
constexpr std::array<std::string_view, 3> kLimitKeys{"concurrent", "requests_per_minute",
                                                     "tokens_per_minute"};
constexpr double kDollarsMax = 1'000'000;   // per million tokens
constexpr double kUnitDollarsMax = 10'000;  // per unit
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

std::optional<inference::Price> read_price(const SectionMap& row, Mistakes& mistakes) {
  const ConfigNode* node = row.find("price");
  if (node == nullptr) return std::nullopt;
  SectionMap map(*node, "models.price", kPriceKeys, mistakes);
  if (!map.is_map()) return std::nullopt;
  inference::Price price;
  price.prompt = map.number("prompt", 0, kDollarsMax).value_or(0);
  price.completion = map.number("completion", 0, kDollarsMax).value_or(0);
  for (const inference::PricePart& part : inference::kPriceParts)
    price.*part.value = map.number(part.name, 0, part.per_million ? kDollarsMax : kUnitDollarsMax);
  return price;
}

// Reads one row, key by key.
class ModelReader {
 public:
  ModelReader(const ConfigNode& node, const ProviderEntries& entries, const ModelDependencies& dependencies,
              Mistakes& mistakes)
      : entries_(entries),
        dependencies_(dependencies),
        mistakes_(mistakes),
        map_(node, "models", kModelKeys, mistakes) {}

  ModelRow read() {
    if (!map_.is_map()) return std::move(row_);
    read_names();
    if (row_.target.preset != nullptr) read_place();
    row_.price = read_price(map_, mistakes_);
    read_limits();
    read_abilities();
    if (auto fallbacks = map_.words("fallbacks")) row_.fallbacks = *std::move(fallbacks);
    if (auto weight = map_.whole("weight", 1, kWeightMax)) row_.weight = static_cast<int>(*weight);
    row_.target.input_max = map_.whole("input_max", 1, kCountMax);
    row_.target.output_max = map_.whole("output_max", 1, kCountMax);
    if (auto flag = map_.flag("response_format")) row_.target.response_format = *flag;
    if (auto flag = map_.flag("media_urls")) row_.target.media_urls = *flag;
    if (auto flag = map_.flag("vision")) row_.target.vision = *flag;
    row_.target.timeouts = dependencies_.timeouts;
    return std::move(row_);
  }

 private:
  void read_names() {
    row_.target.name = map_.text("name").value_or("");
    if (!is_model_name(row_.target.name))
      map_.mistake("name",
                   "is the name that clients send, such as openai/gpt-4.1: 1 to 200 characters, no spaces");
    const auto provider = map_.text("provider");
    if (!provider) return map_.mistake("provider", "is missing: openai, anthropic, gemini, ollama …");
    row_.target.preset = read_preset(map_, "provider", *provider);
    const std::string& name = row_.target.name;
    row_.target.model = map_.text("model").value_or(name.substr(name.find('/') + 1));
  }

  // A key belongs to its server. A server that the row names without a key gets none.
  void read_place() {
    const providers::Preset& preset = *row_.target.preset;
    row_.target.response_format = preset.response_format;
    row_.target.media_urls = preset.media_urls;
    if (preset.family == providers::Family::kMock) return;
    const auto entry = entries_.find(std::string(preset.name));
    const bool known = entry != entries_.end();
    row_.target.base_url = known ? entry->second.base_url : std::string(preset.base_url);
    row_.target.key =
        known ? entry->second.key : dependencies_.keys.variable(std::string(preset.key_variable));
    if (known) row_.target.headers = entry->second.headers;
    const auto url = read_base_url(map_);
    if (url) {
      row_.target.base_url = *url;
      row_.target.key = {};
      row_.target.headers = {};
    }
    if (map_.find("headers") != nullptr)
      row_.target.headers = read_headers(map_, dependencies_.keys, mistakes_);
    const bool key_named = map_.find("api_key") != nullptr;
    if (auto key = read_key(map_, dependencies_.keys, mistakes_)) row_.target.key = *std::move(key);
    if (row_.target.base_url.empty())
      return map_.mistake("base_url", "is missing: provider " + std::string(preset.name) + " has no default");
    if (!url && !known && !key_named && preset.key_required && row_.target.key.empty())
      warn("api_key", "is missing, and the environment does not set " + std::string(preset.key_variable));
  }

  void warn(std::string_view key, const std::string& why) {
    mistakes_.push_back({map_.place(key), "models." + std::string(key) + ": " + why, false});
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
  const ModelDependencies& dependencies_;
  Mistakes& mistakes_;
  SectionMap map_;
  ModelRow row_;
};

}  // namespace

bool is_model_name(std::string_view text) {
  return !text.empty() && text.size() <= kModelNameMax &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

const providers::Preset* read_preset(SectionMap& map, std::string_view key, const std::string& name) {
  const providers::Preset* preset = providers::preset_named(name);
  if (preset != nullptr) return preset;
  std::vector<std::string_view> names;
  for (const providers::Preset& each : providers::presets()) names.push_back(each.name);
  const std::string_view near = base::nearest(name, names);
  map.mistake(key,
              "no provider \"" + name + "\"" +
                  (near.empty() ? "; for a server with OpenAI's protocol use provider openai with a base_url"
                                : "; did you mean " + std::string(near) + "?"));
  return nullptr;
}

ModelRow read_model(const ConfigNode& node, const ProviderEntries& entries,
                    const ModelDependencies& dependencies, Mistakes& mistakes) {
  return ModelReader(node, entries, dependencies, mistakes).read();
}

namespace {

using base::ConfigNode;

// Providers of the file, and those whose key is in the environment.
std::vector<providers::Target> open_providers(ProviderEntries entries,
                                              const ModelDependencies& dependencies) {
  std::vector<providers::Target> out;
  for (const providers::Preset& preset : providers::presets()) {
    const std::string name(preset.name);
    if (const auto entry = entries.find(name); entry != entries.end()) {
      out.push_back(std::move(entry->second));
      continue;
    }
    base::Secret key = dependencies.keys.variable(std::string(preset.key_variable));
    if (preset.base_url.empty() || key.empty()) continue;
    providers::Target target;
    target.preset = &preset;
    target.base_url = preset.base_url;
    target.key = std::move(key);
    target.response_format = preset.response_format;
    target.media_urls = preset.media_urls;
    target.timeouts = dependencies.timeouts;
    out.push_back(std::move(target));
  }
  return out;
}

// True if the row is one of a model of this gateway: it has only a price. `configured`: names of stt.models;
// a row for a provider that takes such a name is a mistake of the other section.
bool read_local_model(const ConfigNode& node, std::span<const std::string> configured, ModelsSection& out) {
  const auto name = std::ranges::find(node.items, "name", &ConfigNode::key);
  if (node.kind != ConfigNode::Kind::kMap || name == node.items.end()) return false;
  const bool is_built_in = std::ranges::find(kLocalModels, name->text) != kLocalModels.end();
  const bool is_configured = std::ranges::find(configured, name->text) != configured.end() &&
                             std::ranges::find(node.items, "provider", &ConfigNode::key) == node.items.end();
  if (!is_built_in && !is_configured) return false;
  SectionMap map(node, "models", kLocalModelKeys, out.mistakes);
  const auto price = read_price(map, out.mistakes);
  if (!price && map.find("price") == nullptr)
    map.mistake("price", "is missing: of a model of this gateway, only the price can be set");
  out.settings.local_prices[name->text] = price.value_or(inference::Price());
  return true;
}

void read_rows(const ModelNodes& nodes, const ProviderEntries& entries, const ModelDependencies& dependencies,
               ModelsSection& out) {
  const ConfigNode& section = nodes.models;
  if (section.kind == ConfigNode::Kind::kNone) return;
  if (section.kind != ConfigNode::Kind::kList) {
    out.mistakes.push_back(
        {section.place, "models: a list is expected here, as in `- name: openai/gpt-4.1`"});
    return;
  }
  const auto is_fatal = [](const auto& mistake) { return mistake.fatal; };
  for (const ConfigNode& node : section.items) {
    if (read_local_model(node, nodes.local_models, out)) continue;
    const std::size_t before = out.mistakes.size();
    inference::ModelRow row = read_model(node, entries, dependencies, out.mistakes);
    if (std::ranges::any_of(std::span(out.mistakes).subspan(before), is_fatal)) continue;
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
  const ModelDependencies dependencies{keys, timeouts};
  ProviderEntries entries = read_providers(nodes.providers, dependencies, out.mistakes);
  out.settings.mock = nodes.mock;
  out.settings.aliases = read_aliases(nodes.aliases, out.mistakes);
  out.settings.mcp_slugs = read_mcp(nodes.mcp, keys, out.mistakes);
  read_rows(nodes, entries, dependencies, out);
  out.settings.open_providers = open_providers(std::move(entries), dependencies);
  check_fallbacks(out);
  return out;
}

// Sections whose entries are read by name: providers, aliases, MCP servers.

namespace {

using base::ConfigNode;

constexpr std::array<std::string_view, 3> kProviderKeys{"base_url", "api_key", "headers"};
constexpr std::array<std::string_view, 4> kMcpKeys{"slug", "url", "version", "headers"};
constexpr std::string_view kTokenCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+.^_`|~-";

bool is_token(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kTokenCharacters) == std::string_view::npos;
}

bool is_header_value(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
}

// The value of a header. Errors do not contain the value.
std::string header_value(const ConfigNode& line, const KeySource& keys, Mistakes& mistakes) {
  if (!KeySource::is_reference(line.text)) return line.text;
  auto secret = keys.read(line.text);
  if (secret) return secret->reveal();
  mistakes.push_back({line.place, "headers." + line.key + ": " + secret.error().message, false});
  return {};
}

}  // namespace

bool is_http_url(std::string_view text) {
  const bool known = text.starts_with("http://") || text.starts_with("https://");
  if (!known || text.find_first_of(" \t\r\n#") != std::string_view::npos) return false;
  constexpr int kAnyPort = 1;
  const std::string_view rest = text.substr(text.find("//") + 2);
  std::string_view host = rest.substr(0, rest.find_first_of("/?"));
  host.remove_prefix(host.rfind('@') + 1);
  return !host.empty() && base::parse_net_address(host, kAnyPort).has_value();
}

HeaderPairs read_headers(SectionMap& map, const KeySource& keys, Mistakes& mistakes) {
  HeaderPairs out;
  const ConfigNode* node = map.find("headers");
  if (node == nullptr) return out;
  if (node->kind != ConfigNode::Kind::kMap) {
    map.mistake("headers", "a map is expected here, as in {x-team: research}");
    return out;
  }
  for (const ConfigNode& line : node->items) {
    const bool good =
        line.kind == ConfigNode::Kind::kText && is_token(line.key) && is_header_value(line.text);
    if (good) {
      out.emplace_back(line.key, header_value(line, keys, mistakes));
    } else {
      mistakes.push_back({line.place, "headers." + line.key + ": this is not a valid header"});
    }
  }
  return out;
}

std::optional<base::Secret> read_key(SectionMap& map, const KeySource& keys, Mistakes& mistakes) {
  const auto text = map.text("api_key");
  if (!text) return std::nullopt;
  auto key = keys.read(*text);
  if (key) return *std::move(key);
  if (key.error().code == base::Code::kInvalidField) {
    map.mistake("api_key", key.error().message);
  } else {
    mistakes.push_back({map.place("api_key"), "api_key: " + key.error().message, false});
  }
  return std::nullopt;
}

std::optional<std::string> read_base_url(SectionMap& map) {
  auto url = map.text("base_url");
  if (!url) return std::nullopt;
  while (url->ends_with('/')) url->pop_back();
  if (is_http_url(*url)) return url;
  map.mistake("base_url", "is not a URL such as https://host/v1");
  return std::nullopt;
}

ProviderEntries read_providers(const ConfigNode& section, const ModelDependencies& dependencies,
                               Mistakes& mistakes) {
  ProviderEntries out;
  if (section.kind == ConfigNode::Kind::kNone) return out;
  if (section.kind != ConfigNode::Kind::kMap) {
    mistakes.push_back({section.place, "providers: a map is expected here, as in openai: {base_url: …}"});
    return out;
  }
  for (const ConfigNode& node : section.items) {
    SectionMap map(node, "providers." + node.key, kProviderKeys, mistakes);
    const providers::Preset* preset = read_preset(map, node.key, node.key);
    if (!map.is_map() || preset == nullptr) continue;
    providers::Target target;
    target.preset = preset;
    target.response_format = preset->response_format;
    target.media_urls = preset->media_urls;
    target.timeouts = dependencies.timeouts;
    const auto url = read_base_url(map);
    target.base_url = url.value_or(std::string(preset->base_url));
    if (!url) target.key = dependencies.keys.variable(std::string(preset->key_variable));
    target.headers = read_headers(map, dependencies.keys, mistakes);
    if (auto key = read_key(map, dependencies.keys, mistakes)) target.key = *std::move(key);
    if (target.base_url.empty()) map.mistake("base_url", "is missing: this provider has no default");
    out.emplace(node.key, std::move(target));
  }
  return out;
}

std::map<std::string, std::string> read_aliases(const ConfigNode& section, Mistakes& mistakes) {
  std::map<std::string, std::string> out{{"provider-a", "openai"}, {"provider-b", "gemini"}};
  if (section.kind == ConfigNode::Kind::kNone) return out;
  if (section.kind != ConfigNode::Kind::kMap) {
    mistakes.push_back({section.place, "aliases: a map is expected here, as in provider-a: openai"});
    return out;
  }
  for (const ConfigNode& node : section.items) {
    const bool known = node.kind == ConfigNode::Kind::kText && providers::preset_named(node.text) != nullptr;
    if (known && node.key.find('/') == std::string::npos) {
      out.insert_or_assign(node.key, node.text);
    } else {
      mistakes.push_back({node.place, "aliases." + node.key + ": the name of a provider is expected here"});
    }
  }
  return out;
}

std::vector<inference::McpSlug> read_mcp(const ConfigNode& section, const KeySource& keys,
                                         Mistakes& mistakes) {
  std::vector<inference::McpSlug> out;
  if (section.kind == ConfigNode::Kind::kNone) return out;
  if (section.kind != ConfigNode::Kind::kList) {
    mistakes.push_back({section.place, "mcp: a list is expected here, as in `- slug: search`"});
    return out;
  }
  std::set<std::string> taken;
  for (const ConfigNode& node : section.items) {
    SectionMap map(node, "mcp", kMcpKeys, mistakes);
    if (!map.is_map()) continue;
    inference::McpSlug slug;
    slug.slug = map.text("slug").value_or("");
    slug.url = map.text("url").value_or("");
    slug.version = map.text("version").value_or("");
    slug.headers = read_headers(map, keys, mistakes);
    const bool is_new = taken.insert(slug.slug).second;
    if (!is_token(slug.slug) || !is_new) map.mistake("slug", "must be one word without spaces");
    if (!is_http_url(slug.url)) map.mistake("url", "is not an http or https URL");
    out.push_back(std::move(slug));
  }
  return out;
}

}  // namespace millrace::app
