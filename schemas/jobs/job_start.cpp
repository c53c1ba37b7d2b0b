#include "schemas/jobs/job_start.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "platform/base/bytes.h"

namespace millrace::schemas {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kStartSecondsMax = 253'402'300'799;  // the year 9999
constexpr std::size_t kStartTextMax = 64;

bool is_start_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Of a form, the only item of the list.
const Json& only_start_item(const Json& value) {
  return value.is_array() && value.size() == 1 ? value.front() : value;
}

// Seconds as an integer, or as its digits.
std::optional<seconds> start_seconds(const Json& value, std::string_view text) {
  std::int64_t count = -1;
  if (is_start_digits(text)) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc()) return std::nullopt;
  } else if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    count = number > std::uint64_t{kStartSecondsMax} ? -1 : static_cast<std::int64_t>(number);
  } else if (value.is_number_integer()) {
    count = value.get<std::int64_t>();
  }
  if (count < 0 || count > kStartSecondsMax) return std::nullopt;
  return seconds(count);
}

std::optional<base::WallTime> start_time(const FieldReader& reader, const Json& value) {
  const std::string_view text = reader.text(value).value_or("");
  base::WallTime time{};
  if (text.size() <= kStartTextMax && base::parse_rfc3339(text, time)) return time;
  if (const auto unix_time = start_seconds(value, text)) return base::WallTime(*unix_time);
  return std::nullopt;
}

std::optional<milliseconds> start_delay(const FieldReader& reader, const Json& value) {
  const std::string_view text = reader.text(value).value_or("");
  if (const auto count = start_seconds(value, text)) return *count;
  if (text.empty() || text.size() > kStartTextMax) return std::nullopt;
  const auto delay = base::parse_duration(text);
  return delay && *delay <= seconds(kStartSecondsMax) ? delay : std::nullopt;
}

void store_start(FieldReader& reader, const std::optional<JobStart>& start, std::optional<JobStart>& out) {
  if (out) return reader.problem("Only one of `run_at` and `delay` may be given", "value_error");
  out = start;
}

base::Status refuse_start(const char* field, std::string message) {
  return base::error(base::Code::kInvalidField, std::move(message), field);
}

std::string start_bound_text(milliseconds ahead_max) {
  return base::format_duration(ahead_max) + " (setting jobs.run_at_max)";
}

}  // namespace

base::Status check_start(const JobStart& start, base::WallTime now, milliseconds ahead_max) {
  if (const auto* delay = std::get_if<milliseconds>(&start)) {
    if (*delay <= ahead_max) return {};
    return refuse_start("delay", "`delay` may be at most " + start_bound_text(ahead_max));
  }
  const base::WallTime run_at = std::get<base::WallTime>(start);
  if (run_at < now - kRunAtGrace) {
    return refuse_start("run_at", "`run_at` " + base::rfc3339(run_at) +
                                      " has passed: the gateway's time is " + base::rfc3339(now));
  }
  if (run_at - now <= ahead_max) return {};
  return refuse_start("run_at", "`run_at` may be at most " + start_bound_text(ahead_max) + " ahead");
}

void read_run_at(FieldReader& reader, const Json& value, std::optional<JobStart>& out) {
  const auto time = start_time(reader, only_start_item(value));
  if (time) return store_start(reader, *time, out);
  reader.problem("Input should be a date and time as RFC 3339, such as 2030-01-31T08:00:00Z, or Unix seconds",
                 "datetime_parsing", &value);
}

void read_delay(FieldReader& reader, const Json& value, std::optional<JobStart>& out) {
  const auto delay = start_delay(reader, only_start_item(value));
  if (delay) return store_start(reader, *delay, out);
  reader.problem("Input should be a time such as \"30s\", \"15m\", \"7d3h4s\", or a number of seconds",
                 "value_error", &value);
}

}  // namespace millrace::schemas
