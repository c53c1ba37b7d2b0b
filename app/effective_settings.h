#pragma once
#include <vector>

#include "app/settings.h"

namespace millrace::app {

// What `config check` prints: where a setting is left to the program, the value that it has chosen, "(how it
// will be chosen)" where that shows only while serving, and "-" for none; then a line for each machine and
// each model of the file. With a fatal mistake only what does not depend on the other settings is chosen.
std::vector<base::Config::Line> effective_settings(const LoadedSettings& loaded);

}  // namespace millrace::app
