#pragma once
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

// What happened to a job, as a person reads it.
namespace millrace::cli {

// "TIME  TYPE  SENTENCE", without a line end; what a command wrote has a line for each of its own. Members
// that no sentence is made of stand behind it by their names.
std::string event_text(const nlohmann::json& event);

// Why a job is queued again, by its `queued` event; empty for one without a reason, and for any other event.
std::string queued_reason(const nlohmann::json& event);

// `event_text` of one job's events in their order: of a job that is read in parts, what puts them together is
// said to do so, and is not counted among its attempts.
class JobHistory {
 public:
  std::string text(nlohmann::json event);

 private:
  bool in_parts_ = false;
  std::int64_t attempt_ = 0;  // the last that began, as it is counted here
};

}  // namespace millrace::cli
