#include <algorithm>
#include <array>

#include "app/model_rows.h"

// What of the sections of models is said by name: providers, aliases, servers of tools.
namespace millrace::app {
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

// What goes to whom, without a word of what it is.
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
  const std::string_view rest = known ? text.substr(text.find("//") + 2) : std::string_view();
  return !rest.empty() && rest.front() != '/' && text.find_first_of(" \t\r\n#") == std::string_view::npos;
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
      mistakes.push_back({line.place, "headers." + line.key + ": no header is made of this"});
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
  map.mistake("base_url", "is no URL such as https://host/v1");
  return std::nullopt;
}

ProviderEntries read_providers(const ConfigNode& section, const ModelGround& ground, Mistakes& mistakes) {
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
    target.timeouts = ground.timeouts;
    const auto url = read_base_url(map);
    target.base_url = url.value_or(std::string(preset->base_url));
    if (!url) target.key = ground.keys.variable(std::string(preset->key_variable));
    target.headers = read_headers(map, ground.keys, mistakes);
    if (auto key = read_key(map, ground.keys, mistakes)) target.key = *std::move(key);
    if (target.base_url.empty()) map.mistake("base_url", "is missing: this provider has none of its own");
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
  for (const ConfigNode& node : section.items) {
    SectionMap map(node, "mcp", kMcpKeys, mistakes);
    if (!map.is_map()) continue;
    inference::McpSlug slug;
    slug.slug = map.text("slug").value_or("");
    slug.url = map.text("url").value_or("");
    slug.version = map.text("version").value_or("");
    slug.headers = read_headers(map, keys, mistakes);
    const bool taken = std::ranges::any_of(out, [&](const auto& other) { return other.slug == slug.slug; });
    if (!is_token(slug.slug) || taken) map.mistake("slug", "is a word of its own, without spaces");
    if (!is_http_url(slug.url)) map.mistake("url", "is no http or https URL");
    out.push_back(std::move(slug));
  }
  return out;
}

}  // namespace millrace::app
