#include "platform/base/metrics.h"

#include <mutex>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace millrace::base {

struct Metrics::Impl {
  prometheus::Registry registry;  // the same name and labels return the same object
  std::mutex mutex;
  std::vector<std::function<void()>> refreshers;
};

void Counter::add(double by) const { static_cast<prometheus::Counter*>(impl_)->Increment(by); }
double Counter::value() const { return static_cast<prometheus::Counter*>(impl_)->Value(); }
void Gauge::set(double value) const { static_cast<prometheus::Gauge*>(impl_)->Set(value); }
void Gauge::add(double by) const { static_cast<prometheus::Gauge*>(impl_)->Increment(by); }
double Gauge::value() const { return static_cast<prometheus::Gauge*>(impl_)->Value(); }
void Histogram::observe(double value) const { static_cast<prometheus::Histogram*>(impl_)->Observe(value); }

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return Counter(&prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry).Add(labels));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return Gauge(&prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry).Add(labels));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& bounds, const Labels& labels) {
  return Histogram(
      &prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry).Add(labels, bounds));
}

void Metrics::on_scrape(std::function<void()> refresh) {
  std::lock_guard lock(impl_->mutex);
  impl_->refreshers.push_back(std::move(refresh));
}

std::string Metrics::scrape() {
  std::vector<std::function<void()>> refreshers;
  {
    std::lock_guard lock(impl_->mutex);
    refreshers = impl_->refreshers;
  }
  for (const auto& refresh : refreshers) refresh();
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

const std::vector<double>& latency_bounds() {
  static const std::vector<double> kBounds{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
                                           0.2,    0.5,   1,     2,     5,    10,   30,   60};
  return kBounds;
}

}  // namespace millrace::base
