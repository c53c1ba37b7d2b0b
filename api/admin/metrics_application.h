#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admission/allowed_hosts.h"
#include "api/admission/auth.h"
#include "api/front/exchange.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"

namespace millrace::api {

// All metrics of this process in Prometheus' text format. Reads the store; runs on the pool.
front::Reply metrics_reply(base::Metrics& metrics);

// Application of the metrics listener (`metrics.listen`). It serves only /metrics and /livez, so that
// processes without the API can be monitored. It uses the API keys of the store. All dependencies outlive it,
// and the server's requests are over before it is destroyed.
class MetricsApplication final : public front::Application {
 public:
  struct Dependencies {
    storage::Store& store;
    base::Pool& pool;
    base::Metrics& metrics;
    int failed_keys_per_minute = FailedAttempts::kPerMinute;
  };
  // `open`: /metrics needs no key. `hosts`: AllowedHosts. `pepper`: api/admission/keys.h.
  MetricsApplication(Dependencies dependencies, bool open, std::vector<std::string> hosts,
                     std::string_view pepper)
      : dependencies_(dependencies),
        open_(open),
        hosts_(std::move(hosts)),
        auth_(dependencies.store, pepper, dependencies.failed_keys_per_minute) {}

  front::Admission admit(const front::Head& head) override;
  void run(front::Request request, front::Responder responder) override;
  front::Reply error_reply(int status, std::string_view message, const front::Head& head) override;

 private:
  front::Reply metrics(const front::Head& head);
  base::Status may_read(const front::Head& head);

  const Dependencies dependencies_;
  const bool open_;
  const AllowedHosts hosts_;
  Auth auth_;
};

}  // namespace millrace::api
