#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::base {

// Prometheus metrics, named `millrace_<what>_<unit>[_total]`, base units seconds and bytes. Labels are
// bounded: route patterns, kinds, outcomes; never a client's text. prometheus-cpp stays in metrics.cpp.
using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  void add(double by = 1) const;
  double value() const;

 private:
  friend class Metrics;
  explicit Counter(void* impl) : impl_(impl) {}
  void* impl_;
};

class Gauge {
 public:
  void set(double value) const;
  void add(double by) const;
  double value() const;

 private:
  friend class Metrics;
  explicit Gauge(void* impl) : impl_(impl) {}
  void* impl_;
};

class Histogram {
 public:
  void observe(double value) const;

 private:
  friend class Metrics;
  explicit Histogram(void* impl) : impl_(impl) {}
  void* impl_;
};

// Owned by app/compose; handles stay valid as long as it lives. The same name and labels give the same
// series. Making a handle takes a lock: owners make theirs once and keep them. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                      const Labels& labels = {});
  // Runs `refresh` before each scrape, for values that are looked up and not counted. It must not block long.
  void on_scrape(std::function<void()> refresh);
  // The text exposition format, version 0.0.4.
  std::string scrape();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Seconds, 0.5 ms … 60 s.
const std::vector<double>& latency_bounds();

}  // namespace millrace::base
