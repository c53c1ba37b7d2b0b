#include "app/litellm_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace::app {
namespace {

// A word as it is where YAML takes it for one, else in quotes.
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
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 6).ptr;
  std::string out(text.data(), end);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

// "{a: 1, b: 2}" of what is there.
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

std::string if_said(const std::string& word) { return word.empty() ? "" : yaml_word(word); }

void add_model(std::string& out, const ImportedModel& row) {
  out += "  - name: " + yaml_word(row.name) + "\n";
  add_line(out, "provider", row.provider);
  add_line(out, "model", yaml_word(row.model));
  add_line(out, "base_url", if_said(row.base_url));
  add_line(out, "api_key", if_said(row.api_key));
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
  price.add_price("cached", row.cached);
  add_line(out, "price", price.text());
  add_line(out, "output_max", row.output_max > 0 ? std::to_string(row.output_max) : "");
  add_line(out, "abilities", row.ability.empty() ? "" : "[" + row.ability + "]");
  add_line(out, "fallbacks", word_list(row.fallbacks));
}

}  // namespace

std::string imported_text(const std::string& file_name, const ImportedModels& models,
                          const ImportedRouting& routing) {
  std::string out =
      "# Made of " + nlohmann::json(file_name).dump(-1, ' ', true) +
      " by `millrace config import`. `millrace config check --config FILE` shows what it says.\n";
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
