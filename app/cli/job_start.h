#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace millrace::cli {

// --run-at and --delay: when the job of a request starts. At most one of them is set; the gateway checks it.
struct JobStartFlags {
  std::string run_at, delay;

  bool is_set() const { return !run_at.empty() || !delay.empty(); }
  const char* field() const { return delay.empty() ? "run_at" : "delay"; }
  const std::string& value() const { return delay.empty() ? run_at : delay; }
  // Adds the field of a JSON body.
  void add_to(nlohmann::json& body) const {
    if (is_set()) body[field()] = value();
  }
};

}  // namespace millrace::cli
