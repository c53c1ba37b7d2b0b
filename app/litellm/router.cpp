#include "app/litellm/router.h"

#include <algorithm>
#include <cmath>

#include "app/litellm/map.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

constexpr int kImportedAttemptsMax = 10;
constexpr double kImportedTimeoutMax = 86'400;

// The strings of a list. Other entries get a note.
std::vector<std::string> names_in(const ConfigNode& list, LitellmMap& map, std::string_view key) {
  std::vector<std::string> out;
  for (const ConfigNode& item : list.items) {
    if (item.kind == ConfigNode::Kind::kText) {
      out.push_back(item.text);
    } else {
      map.note(key, "left out, at " + item.place + ": the name of a model is expected here");
    }
  }
  return out;
}

// `- gpt-4o: [claude, llama]`
void read_group_fallbacks(LitellmMap& map, ImportedRouting& out) {
  const ConfigNode* list = map.take("fallbacks");
  if (list == nullptr) return;
  for (const ConfigNode& item : list->items) {
    for (const ConfigNode& member : item.items)
      out.fallbacks.emplace(member.key, names_in(member, map, "fallbacks"));
    if (item.kind != ConfigNode::Kind::kMap)
      map.note("fallbacks", "left out, at " + item.place + ": a map is expected here");
  }
}

void read_group_aliases(LitellmMap& map, ImportedRouting& out) {
  const ConfigNode* group = map.take("model_group_alias");
  if (group == nullptr) return;
  for (const ConfigNode& alias : group->items) {
    const auto named = std::ranges::find(alias.items, "model", &ConfigNode::key);
    const bool is_map = alias.kind == ConfigNode::Kind::kMap && named != alias.items.end();
    out.aliases.emplace(alias.key, is_map ? named->text : alias.text);
  }
}

void read_bounds(LitellmMap& map, std::string_view timeout_key, ImportedRouting& out) {
  if (const auto retries = map.number("num_retries"); retries && !out.tries)
    out.tries = static_cast<int>(std::min(*retries, double{kImportedAttemptsMax - 1})) + 1;
  const auto timeout = map.number(timeout_key);
  if (!timeout || *timeout < 1 || !out.total_timeout.empty()) return;
  out.total_timeout = std::to_string(std::lround(std::min(*timeout, kImportedTimeoutMax))) + "s";
}

void read_section(const ConfigNode& section, const char* name, std::string_view timeout_key,
                  ImportedRouting& out, std::vector<std::string>& notes) {
  LitellmMap map(section, name, notes);
  read_group_fallbacks(map, out);
  read_group_aliases(map, out);
  read_bounds(map, timeout_key, out);
  if (const ConfigNode* names = map.take("default_fallbacks");
      names != nullptr && out.default_fallbacks.empty())
    out.default_fallbacks = names_in(*names, map, "default_fallbacks");
  map.take("drop_params");  // here a parameter that is dropped is always named in the reply
  if (const auto strategy = map.text("routing_strategy"); strategy && *strategy != "simple-shuffle")
    map.note("routing_strategy", "left out: Millrace chooses by weight, as simple-shuffle does");
  map.note_unread_members();
}

}  // namespace

ImportedRouting import_routing(const ConfigNode& router, const ConfigNode& litellm,
                               std::vector<std::string>& notes) {
  ImportedRouting out;
  read_section(router, "router_settings", "timeout", out, notes);
  read_section(litellm, "litellm_settings", "request_timeout", out, notes);
  return out;
}

}  // namespace millrace::app
