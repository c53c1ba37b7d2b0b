#include "app/cli/model_text.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::size_t kModelColumns = 40;
constexpr std::size_t kProviderColumns = 12;
constexpr std::size_t kModelFieldColumns = 14;
constexpr std::array kModelFields = {"id", "provider", "display_name", "owned_by", "created_at", "type"};

std::string abilities(const json& model) {
  std::string out;
  const auto found = model.find("capabilities");
  if (found == model.end() || !found->is_object()) return out;
  for (const auto& [name, can_do] : found->items()) {
    if (can_do == true) out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

std::string row(std::string name, std::string provider, const std::string& abilities) {
  return padded(std::move(name), kModelColumns) + "  " + padded(std::move(provider), kProviderColumns) +
         "  " + abilities;
}

}  // namespace

std::string model_header() { return row("MODEL", "PROVIDER", "DOES"); }

std::string model_row(const json& model) {
  return row(text_at(model, "id"), text_at(model, "provider"), abilities(model));
}

std::string model_text(const json& model) {
  std::string out;
  for (const char* field : kModelFields) {
    const std::string value = text_at(model, field);
    if (!value.empty()) out += padded(field, kModelFieldColumns) + " " + value + "\n";
  }
  return out + padded("does", kModelFieldColumns) + " " + abilities(model) + "\n";
}

bool can(const json& model, const char* capability) {
  const auto found = model.find("capabilities");
  return found != model.end() && found->is_object() && found->value(capability, json()) == true;
}

}  // namespace millrace::cli
