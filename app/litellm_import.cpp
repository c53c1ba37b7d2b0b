#include "app/litellm_import.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "app/litellm_models.h"
#include "app/litellm_router.h"
#include "app/litellm_text.h"
#include "app/place_line.h"
#include "platform/base/config.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

struct ForeignSection {
  std::string_view key, why;
};
constexpr std::array kForeignSections{
    ForeignSection{"general_settings",
                   "Millrace's keys are made with `millrace keys create`, and its store needs no settings"},
    ForeignSection{"environment_variables", "give them to the gateway's own environment"},
    ForeignSection{"callback_settings", "Millrace has no callbacks: jobs have events, /metrics has numbers"},
    ForeignSection{"credential_list", "name each key in its row, as env:NAME or file:PATH"},
    ForeignSection{"guardrails", "Millrace has none"},
    ForeignSection{"mcp_servers", "servers of tools are the section `mcp`: slug and url"},
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

// A name for all targets of another one.
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
            : whose.append(": rows of its own; their limits count apart from those of ").append(name));
  }
}

std::vector<std::string> known_of(const std::vector<std::string>& wanted, const std::string& name,
                                  const std::set<std::string>& known, std::vector<std::string>& notes) {
  std::vector<std::string> out;
  for (const std::string& each : wanted) {
    if (each != name && known.contains(each)) out.push_back(each);
    if (!known.contains(each)) notes.push_back(names_nothing("fallbacks of " + name, each));
  }
  return out;
}

void add_imported_fallbacks(const ImportedRouting& routing, std::vector<ImportedModel>& rows,
                            std::vector<std::string>& notes) {
  std::set<std::string> known;
  for (const ImportedModel& row : rows) known.insert(row.name);
  for (const auto& [name, wanted] : routing.fallbacks) {
    if (!known.contains(name)) notes.push_back("fallbacks of " + name + ": left out: it was not imported");
  }
  std::set<std::string> done;
  for (ImportedModel& row : rows) {
    const auto own = routing.fallbacks.find(row.name);
    const auto& wanted = own == routing.fallbacks.end() ? routing.default_fallbacks : own->second;
    std::vector<std::string> said;
    row.fallbacks = known_of(wanted, row.name, known, said);
    if (done.insert(row.name).second) notes.insert(notes.end(), said.begin(), said.end());
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
                       file_name + ": no model of it can be imported" + joined(out.notes));
  out.yaml = imported_text(file_name, models, routing);
  return out;
}

}  // namespace millrace::app
