#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::base {

// Prometheus metrics are named `millrace_<what>_<unit>[_total]`; base units are seconds and bytes. Labels
// have a bounded set of values: route patterns, kinds, outcomes; never the text of a client. Only metrics.cpp
// includes prometheus-cpp.
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

// Owned by app/compose. Handles are valid during its lifetime. The same name and labels return the same
// series. Creating a handle takes a lock, so owners create their handles once and keep them. Thread-safe.
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
  // Calls `refresh` before each scrape, for values that are looked up instead of counted. It must not block
  // for long.
  void on_scrape(std::function<void()> refresh);
  // The text exposition format, version 0.0.4.
  std::string scrape();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// In seconds, from 0.5 ms to 60 s.
const std::vector<double>& latency_bounds();

}  // namespace millrace::base
