#pragma once
#include <span>
#include <string>

#include "platform/base/setting.h"

namespace millrace::app {

// The settings as tables in Markdown, one per word before the dot: what docs/configuration.md has of them.
std::string settings_reference(std::span<const base::Setting> table);

}  // namespace millrace::app
