#include "app/config/webhook_settings.h"

#include "platform/base/bytes.h"

namespace millrace::app {

void read_webhook_settings(const base::Config& config, Settings& s,
                           std::vector<base::ConfigMistake>& mistakes) {
  constexpr std::size_t kRetriesMax = 32;
  s.webhook_hosts = config.list("webhooks.allowed_hosts");
  s.webhooks_per_tenant = static_cast<int>(config.integer("webhooks.per_tenant"));
  s.webhook_timeout = config.duration("webhooks.timeout");
  s.webhook_rotation = config.duration("webhooks.rotation");
  s.webhook_retention = config.duration("webhooks.retention");
  for (const std::string& text : config.list("webhooks.retries")) {
    const auto pause = base::parse_duration(text);
    if (pause) s.webhook_retries.push_back(*pause);
    if (!pause)
      mistakes.push_back(
          {config.origin("webhooks.retries"), "webhooks.retries: " + text + " is no time such as 5s or 30m"});
  }
  if (s.webhook_retries.size() > kRetriesMax)
    mistakes.push_back({config.origin("webhooks.retries"), "webhooks.retries: at most 32 pauses"});
}

}  // namespace millrace::app
