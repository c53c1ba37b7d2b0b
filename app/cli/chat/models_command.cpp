#include "app/cli/chat/models_command.h"

#include <algorithm>
#include <array>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"
#include "app/cli/program.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

constexpr std::size_t kModelColumns = 40;
constexpr std::size_t kProviderColumns = 12;
constexpr std::size_t kModelFieldColumns = 14;
constexpr std::array kModelFields = {"id",       "alias_of",   "provider", "display_name",
                                     "owned_by", "created_at", "type"};

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

std::string model_header() { return row("MODEL", "PROVIDER", "CAPABILITIES"); }

std::string model_row(const json& model) {
  const std::string alias_of = text_at(model, "alias_of");
  return row(text_at(model, "id"), text_at(model, "provider"),
             abilities(model) + (alias_of.empty() ? "" : " (alias of " + alias_of + ")"));
}

std::string model_text(const json& model) {
  std::string out;
  for (const char* field : kModelFields) {
    const std::string value = text_at(model, field);
    if (!value.empty()) out += padded(field, kModelFieldColumns) + " " + value + "\n";
  }
  return out + padded("capabilities", kModelFieldColumns) + " " + abilities(model) + "\n";
}

bool can(const json& model, const char* capability) {
  const auto found = model.find("capabilities");
  return found != model.end() && found->is_object() && found->value(capability, json()) == true;
}

using nlohmann::json;
namespace {

constexpr std::size_t kNamesShown = 20;
constexpr const char* kMockFlag = "--mock true";

std::string list_command(const ClientOptions& options) {
  return "`" + program() + " models ls" + gateway_options(options) + "`";
}

// Requests the model list. A list without `data` is an error like any other.
Client::Response list(Client& client) {
  auto answer = client.request("GET", "/v1/models");
  if (!answer.ok) return answer;
  const auto data = answer.json->find("data");
  answer.ok = data != answer.json->end() && data->is_array() &&
              std::ranges::all_of(*data, [](const json& model) { return model.is_object(); });
  if (!answer.ok) answer.error = client.no_gateway("its model list has no `data`");
  return answer;
}

}  // namespace

int models_ls(ClientOptions options) {
  Client client(std::move(options));
  const auto answer = list(client);
  if (!answer.ok) return fail(answer.error);
  const bool as_json = client.options().json;
  if (!as_json) std::cout << model_header() << '\n';
  for (const json& model : (*answer.json)["data"])
    std::cout << (as_json ? model.dump() : model_row(model)) << '\n';
  return kOk;
}

int models_show(const std::string& name, ClientOptions options) {
  Client client(std::move(options));
  const auto answer = client.request("GET", "/v1/models/" + percent_encoded(name));
  if (!answer.ok) {
    print_error(answer.error);
    if (answer.error.exit_code == kNotFound) std::cerr << models_advice(client.options());
    return answer.error.exit_code;
  }
  std::cout << (client.options().json ? answer.json->dump() + "\n" : model_text(*answer.json));
  return kOk;
}

ChatModels chat_models(Client& client) {
  ChatModels out;
  const auto answer = list(client);
  if (!answer.ok) {
    out.exit_code = fail(answer.error);
    return out;
  }
  for (const json& model : (*answer.json)["data"]) {
    if (can(model, "chat")) out.names.push_back(model.value("id", ""));
  }
  return out;
}

std::string choice_text(const std::vector<std::string>& names, const ClientOptions& options) {
  if (names.empty()) {
    return "millrace: the gateway has no model to chat with\nSet a provider's key in its environment "
           "(OPENAI_API_KEY …) or add your own models (docs/chat.md); `" +
           program() + " serve " + kMockFlag +
           "` offers mock/chat, which repeats messages and needs no provider.\n";
  }
  std::string out = "millrace: choose a model with --model; there are";
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    out += (i == 0 ? " " : ", ") + names[i];
  if (names.size() > kNamesShown) out += " and " + std::to_string(names.size() - kNamesShown) + " more";
  return out + "\nChoose one with -m; " + list_command(options) + " describes them.\n";
}

std::string models_advice(const ClientOptions& options) {
  return list_command(options) + " lists the models; `" + program() + " serve " + kMockFlag +
         "` offers mock/chat, which repeats messages and needs no provider.\n";
}

}  // namespace millrace::cli
