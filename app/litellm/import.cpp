#include "app/litellm/import.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/config/section_map.h"
#include "app/litellm/models.h"
#include "app/litellm/router.h"
#include "platform/base/config.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

struct ForeignSection {
  std::string_view key, why;
};
constexpr std::array kForeignSections{
    ForeignSection{
        "general_settings",
        "Millrace's keys are created with `millrace keys create`, and its store needs no settings"},
    ForeignSection{"environment_variables", "set them in the gateway's environment"},
    ForeignSection{"callback_settings", "Millrace has no callbacks; use the events of jobs and /metrics"},
    ForeignSection{"credential_list", "set each key in its row, as env:NAME or file:PATH"},
    ForeignSection{"guardrails", "Millrace has none"},
    ForeignSection{"mcp_servers", "tool servers go into the section `mcp`: slug and url"},
    ForeignSection{"vector_store_registry", "Millrace has none"},
    ForeignSection{"files_settings", "Millrace has none"}};

base::Config read_litellm(const std::string& file_name, const std::string& text) {
  base::ConfigSources sources;
  sources.file_name = file_name;
  sources.file_text = text;
  sources.sections = {"model_list", "router_settings", "litellm_settings"};
  for (const ForeignSection& section : kForeignSections) sources.sections.push_back(section.key);
  return base::Config::read({}, sources);
}

// "WHOSE: left out: NAME was not imported"
std::string names_nothing(std::string whose, const std::string& name) {
  return whose.append(": left out: ").append(name).append(" was not imported");
}

// Adds an alias as rows for all targets of the original name.
void add_imported_aliases(const ImportedRouting& routing, std::vector<ImportedModel>& rows,
                          std::vector<std::string>& notes) {
  const std::vector<ImportedModel> targets = rows;
  for (const auto& [alias, name] : routing.aliases) {
    const std::size_t before = rows.size();
    for (const ImportedModel& row : targets) {
      if (row.name == name) rows.push_back(row);
      if (row.name == name) rows.back().name = alias;
    }
    std::string whose = "model_group_alias." + alias;
    notes.push_back(
        rows.size() == before
            ? names_nothing(std::move(whose), name)
            : whose.append(": gets its own rows; their limits are separate from those of ").append(name));
  }
}

std::vector<std::string> known_of(const std::vector<std::string>& chain, const std::string& name,
                                  const std::set<std::string>& known, std::vector<std::string>& notes) {
  std::vector<std::string> out;
  for (const std::string& each : chain) {
    if (each != name && known.contains(each)) out.push_back(each);
    if (!known.contains(each)) notes.push_back(names_nothing("fallbacks of " + name, each));
  }
  return out;
}

// An alias without fallbacks has those of its group.
const std::vector<std::string>& chain_of(const ImportedRouting& routing, const std::string& name) {
  const auto own = routing.fallbacks.find(name);
  if (own != routing.fallbacks.end()) return own->second;
  const auto alias = routing.aliases.find(name);
  const auto group =
      alias == routing.aliases.end() ? routing.fallbacks.end() : routing.fallbacks.find(alias->second);
  return group == routing.fallbacks.end() ? routing.default_fallbacks : group->second;
}

void add_imported_fallbacks(const ImportedRouting& routing, std::vector<ImportedModel>& rows,
                            std::vector<std::string>& notes) {
  std::set<std::string> known;
  for (const ImportedModel& row : rows) known.insert(row.name);
  for (const auto& [name, chain] : routing.fallbacks) {
    if (!known.contains(name)) notes.push_back("fallbacks of " + name + ": left out: it was not imported");
  }
  std::set<std::string> done;
  for (ImportedModel& row : rows) {
    const std::vector<std::string>& chain = chain_of(routing, row.name);
    std::vector<std::string> skipped;
    row.fallbacks = known_of(chain, row.name, known, skipped);
    if (done.insert(row.name).second) notes.insert(notes.end(), skipped.begin(), skipped.end());
  }
}

void sort_notes(std::vector<std::string>& notes, const std::string& file_name) {
  std::ranges::stable_sort(notes, {}, [&](const std::string& note) { return place_line(note, file_name); });
}

std::string joined(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += "\n" + note;
  return out;
}

}  // namespace

base::Result<LitellmImport> import_litellm(const std::string& file_name, const std::string& text,
                                           const std::map<std::string, std::string>& environment) {
  LitellmImport out;
  const base::Config config = read_litellm(file_name, text);
  for (const base::ConfigMistake& mistake : config.mistakes())
    out.notes.push_back(mistake.place + ": left out: " + mistake.message);
  for (const ForeignSection& each : kForeignSections) {
    const ConfigNode& node = config.section(each.key);
    if (node.kind != ConfigNode::Kind::kNone)
      out.notes.push_back(node.place + ": " + std::string(each.key) + ": left out: " + std::string(each.why));
  }
  PlainKeys keys;
  ImportedModels models = import_models(config.section("model_list"), environment, keys, out.notes);
  const ImportedRouting routing =
      import_routing(config.section("router_settings"), config.section("litellm_settings"), out.notes);
  add_imported_aliases(routing, models.rows, out.notes);
  add_imported_fallbacks(routing, models.rows, out.notes);
  sort_notes(out.notes, file_name);
  out.rows = models.rows.size() + models.providers.size();
  if (out.rows == 0)
    return base::error(base::Code::kInvalidField,
                       file_name + ": none of its models can be imported" + joined(out.notes));
  out.yaml = imported_text(file_name, models, routing);
  return out;
}

namespace {

// Writes a YAML string without quotes if YAML would read it as a string, else in quotes.
std::string yaml_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:-";
  constexpr std::array<std::string_view, 7> kReserved{"true", "false", "null", "yes", "no", "on", "off"};
  const bool letter =
      !text.empty() && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
  const bool plain = letter && text.find_first_not_of(kPlain) == std::string::npos && !text.ends_with(':');
  if (plain && std::ranges::find(kReserved, text) == kReserved.end()) return text;
  return nlohmann::json(text).dump(-1, ' ', true);
}

// REQUIRES: a price that EntryReader lets through.
std::string yaml_number(double value) {
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 9).ptr;
  std::string out(text.data(), end);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

// Builds "{a: 1, b: 2}" from the members that are set.
class FlowMap {
 public:
  void add(std::string_view key, const std::string& value) {
    if (!value.empty()) text_.append(text_.empty() ? "" : ", ").append(key).append(": ").append(value);
  }
  void add_count(std::string_view key, std::int64_t value) {
    if (value > 0) add(key, std::to_string(value));
  }
  void add_price(std::string_view key, const std::optional<double>& value) {
    if (value) add(key, yaml_number(*value));
  }
  std::string text() const { return text_.empty() ? "" : "{" + text_ + "}"; }

 private:
  std::string text_;
};

void add_line(std::string& out, std::string_view key, const std::string& value) {
  if (!value.empty()) out.append("    ").append(key).append(": ").append(value).append("\n");
}

std::string word_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + yaml_word(name);
  return out.empty() ? "" : "[" + out + "]";
}

std::string or_empty(const std::string& word) { return word.empty() ? "" : yaml_word(word); }

void add_model(std::string& out, const ImportedModel& row) {
  out += "  - name: " + yaml_word(row.name) + "\n";
  add_line(out, "provider", row.provider);
  add_line(out, "model", yaml_word(row.model));
  add_line(out, "base_url", or_empty(row.base_url));
  add_line(out, "api_key", or_empty(row.api_key));
  FlowMap headers;
  for (const auto& [name, value] : row.headers) headers.add(yaml_word(name), yaml_word(value));
  add_line(out, "headers", headers.text());
  add_line(out, "weight", row.weight > 0 ? std::to_string(row.weight) : "");
  FlowMap limits;
  limits.add_count("concurrent", row.concurrent);
  limits.add_count("requests_per_minute", row.requests_per_minute);
  limits.add_count("tokens_per_minute", row.tokens_per_minute);
  add_line(out, "limits", limits.text());
  FlowMap price;
  price.add_price("prompt", row.prompt);
  price.add_price("completion", row.completion);
  for (const inference::PricePart& part : inference::kPriceParts)
    price.add_price(part.name, row.price.*part.value);
  add_line(out, "price", price.text());
  add_line(out, "input_max", row.input_max > 0 ? std::to_string(row.input_max) : "");
  add_line(out, "output_max", row.output_max > 0 ? std::to_string(row.output_max) : "");
  add_line(out, "abilities", row.ability.empty() ? "" : "[" + row.ability + "]");
  add_line(out, "fallbacks", word_list(row.fallbacks));
}

}  // namespace

std::string imported_text(const std::string& file_name, const ImportedModels& models,
                          const ImportedRouting& routing) {
  std::string out = "# Made of " + nlohmann::json(file_name).dump(-1, ' ', true) +
                    " by `millrace config import`. `millrace config check --config FILE` shows its values.\n";
  if (!models.rows.empty()) out += "models:\n";
  for (const ImportedModel& row : models.rows) add_model(out, row);
  if (!models.providers.empty()) out += "providers:\n";
  for (const auto& [name, key] : models.providers)
    out += "  " + name + ": {" + (key.empty() ? "" : "api_key: " + yaml_word(key)) + "}\n";
  if (routing.tries || !routing.total_timeout.empty()) out += "chat:\n";
  if (routing.tries) out += "  tries: " + std::to_string(*routing.tries) + "\n";
  if (!routing.total_timeout.empty()) out += "  total_timeout: " + routing.total_timeout + "\n";
  return out;
}

}  // namespace millrace::app
