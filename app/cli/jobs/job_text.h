#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// Jobs as text for people.
namespace millrace::cli {

// One line per field: what it is, its status and its times first, links last. Every line ends with a newline.
std::string job_text(const nlohmann::json& job);

// Why a queued job has not started or waits for its next attempt: its queue is paused, or the reason of its
// last event (null: not known). Empty for a job that is not queued. `now`: an RFC 3339 time in the gateway's
// format.
std::string waiting_text(const nlohmann::json& job, const nlohmann::json& last_event, std::string_view now);

// True if the job waits because its queue is paused; and the text for it.
bool is_paused(const nlohmann::json& job);
std::string paused_text(const nlohmann::json& job);
// True if the job waits because no worker currently serves its kind; and the text for it.
bool is_unserved(const nlohmann::json& job);
std::string unserved_text(const nlohmann::json& job);

// "MESSAGE (CODE)" for {code, message}; for any other value, all of it as JSON.
std::string error_text(const nlohmann::json& error);

// A row of the job list, without a newline: id, status, progress, creation time to the second, model, name
// (shortened) and error code; "-" for absent values.
std::string job_row(const nlohmann::json& job);

// The rows of a list, with columns as wide as what they hold.
class JobTable {
 public:
  // `columns`: the width of the terminal, to which names are cut; 0: none.
  explicit JobTable(std::size_t columns = 0) : columns_(columns) {}
  // The lines of these jobs, before the first ones a header. Columns only grow.
  std::string lines(const std::vector<nlohmann::json>& jobs);

 private:
  const std::size_t columns_;
  std::vector<std::size_t> widths_;
};

// "3/12"; "-" if not known.
std::string progress_text(const nlohmann::json& job);

}  // namespace millrace::cli
