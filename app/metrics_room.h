#pragma once
#include <memory>
#include <string>

#include "api/front/server.h"
#include "api/metrics_door.h"
#include "app/settings.h"

namespace millrace::app {

// The listener of `metrics.listen`. On loopback it is open, elsewhere it wants a key with scope `metrics` or
// `admin`.
class MetricsRoom {
 public:
  // Binds and serves. kInvalidField (param "metrics.listen"): the address cannot be bound; or the pepper's
  // error. REQUIRES: settings.metrics_listen. What `ground` names outlives it and the pool's last task.
  static base::Result<std::unique_ptr<MetricsRoom>> open(const Settings& settings,
                                                         api::MetricsDoor::Ground ground);
  std::string url() const;
  void stop() { server_.stop(); }

 private:
  MetricsRoom(const base::NetAddress& listen, api::MetricsDoor::Ground ground, const std::string& pepper);

  const std::string host_;
  api::MetricsDoor door_;
  front::Server server_;
};

}  // namespace millrace::app
