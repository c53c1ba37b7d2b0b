#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "api/admission/auth.h"
#include "api/front/exchange.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "schemas/json/json_text.h"

// What the parts of the gateway's health are, for who reads of them for the first time.
namespace millrace::api {

enum class HealthPart : std::uint8_t { kStore, kDispatch, kDisk };

// `means`, and where the part is not well `what_to_do`: a plain line each.
void add_health_texts(schemas::JsonObject& out, HealthPart part, bool ok);

// All that this process counts, as Prometheus reads it. Looks things up: pool.
front::Reply metrics_reply(base::Metrics& metrics);

// What a listener for metrics alone serves (`metrics.listen`): /metrics and /livez, and nothing else, so that
// a process without the API can be watched, and it knows no route of the API. The keys are those of the
// store. Everything given outlives it, and its server's requests are over before it goes.
class MetricsAccess final : public front::Application {
 public:
  struct Dependencies {
    storage::Store& store;
    base::Pool& pool;
    base::Metrics& metrics;
  };
  // `open`: /metrics wants no key. `pepper`: api/admission/keys.h.
  MetricsAccess(Dependencies dependencies, bool open, std::string_view pepper)
      : dependencies_(dependencies), open_(open), auth_(dependencies.store, pepper) {}

  front::Admission admit(const front::Head& head) override;
  void run(front::Request request, front::Responder responder) override;
  front::Reply error_reply(int status, std::string_view message, const front::Head& head) override;

 private:
  front::Reply metrics(const front::Head& head);
  base::Status may_read(const front::Head& head);

  const Dependencies dependencies_;
  const bool open_;
  Auth auth_;
};

}  // namespace millrace::api
