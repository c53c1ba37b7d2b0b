#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "platform/base/clock.h"
#include "schemas/field.h"
#include "schemas/jobs/job.h"

// `run_at` and `delay`: when a job starts at the earliest. Every request that becomes a job may have one of
// them.
namespace millrace::schemas {

// A run_at that has passed by at most this long runs at once: clocks differ. An earlier one is refused.
inline constexpr std::chrono::seconds kRunAtGrace{60};

// kInvalidField: it has passed, or it is further ahead than `jobs.run_at_max`.
base::Status check_start(const JobStart& start, base::WallTime now, std::chrono::milliseconds ahead_max);

// The readers of the two rows. Each reports a problem if the other one is given, too. Of a form or a query
// the value is text, or a list of one.
void read_run_at(FieldReader& reader, const Json& value, std::optional<JobStart>& out);
void read_delay(FieldReader& reader, const Json& value, std::optional<JobStart>& out);

inline constexpr std::string_view kRunAtSchema =
    R"({"oneOf":[{"type":"string","format":"date-time"},{"type":"integer","minimum":0},{"type":"null"}]})";
inline constexpr std::string_view kDelaySchema =
    R"({"oneOf":[{"type":"string","examples":["15m"]},{"type":"integer","minimum":0},{"type":"null"}]})";

template <class Object, auto Member>
constexpr Field run_at_field() {
  return {.name = "run_at",
          .type = FieldType::kCustom,
          .text =
              "The job starts at this time: RFC 3339, or Unix seconds. Until then it is `scheduled`. Not "
              "together with `delay`",
          .schema = kRunAtSchema,
          .custom = [](void* object, FieldReader& reader, const Json& value) {
            read_run_at(reader, value, static_cast<Object*>(object)->*Member);
          }};
}

template <class Object, auto Member>
constexpr Field delay_field() {
  return {.name = "delay",
          .type = FieldType::kCustom,
          .text =
              "The job starts after this time: `30s`, `15m`, `7d3h4s`, or seconds. Until then it is "
              "`scheduled`. Not together with `run_at`",
          .schema = kDelaySchema,
          .custom = [](void* object, FieldReader& reader, const Json& value) {
            read_delay(reader, value, static_cast<Object*>(object)->*Member);
          }};
}

}  // namespace millrace::schemas
