#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "api/admin/metrics_application.h"
#include "api/front/server.h"
#include "app/config/settings.h"

namespace millrace::app {

// The URL at which a listener is reached from this host, without a trailing slash. A listener on all
// addresses is reached by loopback.
std::string listener_url(const std::string& host, std::uint16_t port);

// The listener of `metrics.listen`. It requires a key with scope `metrics` or `admin` unless `metrics.open`
// is set.
class MetricsComponent {
 public:
  // Binds and serves. kInvalidField (param "metrics.listen"): the address cannot be bound. Otherwise the
  // error of reading the pepper. REQUIRES: settings.metrics_listen. What `dependencies` refers to must
  // outlive this object and the pool's last task.
  static base::Result<std::unique_ptr<MetricsComponent>> open(
      const Settings& settings, api::MetricsApplication::Dependencies dependencies);
  std::string url() const;
  void stop() { server_.stop(); }

 private:
  MetricsComponent(const Settings& settings, api::MetricsApplication::Dependencies dependencies,
                   const std::string& pepper);

  const std::string host_;
  api::MetricsApplication access_;
  front::Server server_;
};

}  // namespace millrace::app
