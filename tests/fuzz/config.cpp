#include "platform/base/config.h"

#include <map>
#include <string>

#include "app/config/machines_section.h"
#include "app/config/models_section.h"
#include "app/config/settings.h"
#include "app/litellm/import.h"
#include "tests/fuzz/fuzz.h"

// Configuration files: Millrace's, and those of LiteLLM that are imported. The input is YAML.
namespace millrace::app {
namespace {

using base::Config;
using base::ConfigMistake;
using fuzz::require;

Config read(const std::string& text) {
  return Config::read(settings_table(), {.file_name = "m.yaml",
                                         .file_text = text,
                                         .sections = {"models", "providers", "aliases", "mcp", "machines"}});
}

void check_mistakes(const std::vector<ConfigMistake>& mistakes) {
  for (const ConfigMistake& mistake : mistakes)
    require(!mistake.place.empty() && !mistake.message.empty(), "a mistake has a place and a reason");
}

// A setting has a valid value, also after mistakes.
void check_values(const Config& config) {
  for (const base::Setting& setting : settings_table()) {
    if (config.origin(setting.path) == "default") continue;
    if (setting.type == base::SettingType::kString)
      require(base::check_value(setting, config.text(setting.path)).has_value(),
              "a setting has a valid value");
    if (setting.type == base::SettingType::kInteger)
      require(config.integer(setting.path) >= setting.min && config.integer(setting.path) <= setting.max,
              "a number within its bounds");
  }
}

void check_sections(const Config& config) {
  const std::map<std::string, std::string> environment{{"OPENAI_API_KEY", "sk-test"}};
  const ModelsSection models = read_models({config.section("models"), config.section("providers"),
                                            config.section("aliases"), config.section("mcp")},
                                           environment, {});
  check_mistakes(models.mistakes);
  require(models.places.size() == models.settings.models.size(), "a place for each model");
  const MachinesSection machines = read_machines(config.section("machines"));
  check_mistakes(machines.mistakes);
  require(machines.places.size() == machines.machines.size(), "a place for each machine");
}

// An import that succeeds is a valid configuration.
void check_import(const std::string& text) {
  const auto imported = import_litellm("litellm.yaml", text, {});
  if (!imported) return require(!imported.error().message.empty(), "a refusal says why");
  const Config config = read(imported->yaml);
  for (const ConfigMistake& mistake : config.mistakes()) require(!mistake.fatal, mistake.message.c_str());
}

void check_file(const std::string& text) {
  if (text.find("file:") != std::string::npos) return;  // it would be read
  if (text.find("model_list") != std::string::npos) return check_import(text);
  const Config config = read(text);
  check_mistakes(config.mistakes());
  check_values(config);
  check_sections(config);
}

}  // namespace
}  // namespace millrace::app

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::app::check_file(std::string(millrace::fuzz::text_of(data, size)));
  return 0;
}
