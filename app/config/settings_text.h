#pragma once
#include <span>
#include <string>
#include <vector>

#include "app/config/settings.h"
#include "platform/base/setting.h"

namespace millrace::app {

// The settings as tables in Markdown, one per word before the dot: what docs/configuration.md has of them.
std::string settings_reference(std::span<const base::Setting> table);

// What `config check` prints: where a setting is left to the program, the value that it has chosen, "(how it
// will be chosen)" where that shows only while serving, and "-" for none; then a line for each machine
// and each model of the file, and for each provider whose models are all reachable. Secrets are masked, the
// password in a URL, too. With a fatal mistake only what does not depend on the other settings is chosen.
std::vector<base::Config::Line> effective_settings(const LoadedSettings& loaded);

// They in columns, under a head: setting, value, and whether a default, the file (with its line), a variable
// of the environment or a flag says so.
std::string settings_text(const std::vector<base::Config::Line>& lines);

}  // namespace millrace::app
