#pragma once
#include <span>
#include <string>
#include <vector>

#include "app/config/settings.h"
#include "platform/base/setting.h"

namespace millrace::app {

// The settings as Markdown tables, one per section (the word before the dot), for docs/configuration.md.
std::string settings_reference(std::span<const base::Setting> table);

// The lines of `config check`. A setting that the program chooses by itself is shown with the chosen value;
// with "(how it will be chosen)" if that is known only while serving; with "-" for none. Then one line for
// each machine and each model of the file, and for each provider of which all models can be requested.
// Secrets are masked, also a password in a URL. After a fatal mistake, only values that do not depend on
// other settings are chosen.
std::vector<base::Config::EffectiveValue> effective_settings(const LoadedSettings& loaded);

// The lines as columns with a header: setting, value, and source (default, the file with its line,
// environment variable, or flag).
std::string settings_text(const std::vector<base::Config::EffectiveValue>& lines);

}  // namespace millrace::app
