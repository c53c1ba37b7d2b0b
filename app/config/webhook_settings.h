#pragma once
#include <vector>

#include "app/config/settings.h"
#include "platform/base/config.h"

namespace millrace::app {

// Reads the settings below `webhooks`.
void read_webhook_settings(const base::Config& config, Settings& s,
                           std::vector<base::ConfigMistake>& mistakes);

}  // namespace millrace::app
