#pragma once
#include <map>
#include <string>

#include "ai/inference/routing/breaker.h"
#include "ai/inference/routing/registry.h"
#include "platform/base/metrics.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// The metrics of calls to upstreams. Label `model`: a name from the configuration, otherwise "other". Loop
// thread only.
class UpstreamMetrics {
 public:
  explicit UpstreamMetrics(base::Metrics& metrics) : metrics_(metrics) {}

  void called(const Registry& registry, const std::string& model, double seconds);
  void failed(const Registry& registry, const std::string& model, base::Code code);
  void first_token(const Registry& registry, const std::string& model, double seconds);
  void used(const Registry& registry, const std::string& model, const schemas::ChatUsage& usage);
  void paid(const Registry& registry, const std::string& model, double usd);
  void breaker(const Registry& registry, const std::string& model, BreakerState state);

 private:
  // The series of one model. They are created on first use, because creation takes a lock.
  struct Series {
    base::Histogram duration, first_token;
    base::Counter prompt, completion, cached, reasoning, cost;
    base::Gauge breaker;
    std::map<base::Code, base::Counter> errors;
  };
  Series& of(const Registry& registry, const std::string& model);
  base::Counter tokens(const std::string& model, const char* type);
  base::Metrics& metrics_;
  std::map<std::string, Series> series_;
};

}  // namespace millrace::inference
