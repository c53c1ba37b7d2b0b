#pragma once
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

// Events of a job as text for people.
namespace millrace::cli {

// "TIME  TYPE  SENTENCE", without a newline at the end. Output of a command gets one line for each of its
// lines. Event members that the sentence does not use follow it with their names.
std::string event_text(const nlohmann::json& event);

// The reason in a `queued` event why the job is queued again. Empty without a reason and for any other event.
std::string queued_reason(const nlohmann::json& event);

// `event_text` for the events of one job, in order. For a job that is processed in parts, the final step that
// merges them is shown as such and not counted as an attempt.
class JobHistory {
 public:
  std::string text(nlohmann::json event);

 private:
  bool in_parts_ = false;
  std::int64_t attempt_ = 0;  // number of the last attempt that started, without merge steps
};

}  // namespace millrace::cli
