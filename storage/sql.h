#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "schemas/batches/batch.h"
#include "schemas/jobs/job.h"
#include "schemas/machines/machine.h"
#include "schemas/machines/ssh_session.h"
#include "schemas/webhooks/webhook.h"
#include "storage/db/db.h"

// Inside storage: SQL texts with named constants. `"SELECT id FROM jobs WHERE status = {queued}"_sql` becomes
// "… WHERE status = 0" at compile time, so that SQLite sees the number and can use partial indexes. A name
// that is not in kSqlNames does not compile. White space outside of quotes becomes one space. The functions
// index the texts: with -fsanitize=undefined, GCC 12 rejects pointers into them in constant expressions.
namespace millrace::storage {

// `run_at` of a queued job that waits until its machine is awake: infinite.
inline constexpr std::int64_t kWaitsForMachine = std::numeric_limits<std::int64_t>::max();

// What `run_at` of a queued job is: jobs.schedule.
enum class Schedule : std::uint8_t {
  kNone = 0,   // 0, kWaitsForMachine, or the end of a retry pause in steady time
  kTime = 1,   // the client's run_at: a wall time
  kDelay = 2,  // the end of the client's delay in steady time
};

// A line of a batch: batch_lines.state.
enum class LineState : std::uint8_t { kPending = 0, kSubmitted = 1, kSucceeded = 2, kFailed = 3 };

struct SqlName {
  template <class T>
  consteval SqlName(std::string_view name, T value) : text(name), number(static_cast<std::int64_t>(value)) {}
  std::string_view text;
  std::int64_t number;
};

inline constexpr auto kSqlNames = std::to_array<SqlName>({
    // jobs.status
    {"queued", schemas::JobStatus::kQueued},
    {"running", schemas::JobStatus::kRunning},
    {"waiting", schemas::JobStatus::kWaiting},
    {"succeeded", schemas::JobStatus::kSucceeded},
    {"failed", schemas::JobStatus::kFailed},
    {"first_terminal", schemas::JobStatus::kSucceeded},   // this one and all above are terminal
    {"first_unsuccessful", schemas::JobStatus::kFailed},  // this one and all above: terminal, no success
    // jobs.kind, jobs.run_at, jobs.deadline - jobs.created_at
    {"chat", schemas::Kind::kChat},
    {"waits_for_machine", kWaitsForMachine},
    {"default_deadline_ms", std::chrono::milliseconds(schemas::kDefaultJobDeadline).count()},
    // jobs.schedule
    {"not_scheduled", Schedule::kNone},
    {"schedule_time", Schedule::kTime},
    {"schedule_delay", Schedule::kDelay},
    // machines.phase, machines.desired, machines.source
    {"phase_running", schemas::MachinePhase::kRunning},
    {"phase_sleeping", schemas::MachinePhase::kSleeping},
    {"phase_destroyed", schemas::MachinePhase::kDestroyed},
    {"phase_failed", schemas::MachinePhase::kFailed},
    {"desired_running", schemas::MachineState::kRunning},
    {"desired_sleeping", schemas::MachineState::kSleeping},
    {"desired_destroyed", schemas::MachineState::kDestroyed},
    {"driver_ssh", schemas::MachineDriver::kSsh},
    {"source_file", schemas::MachineSource::kFile},
    // batches.status, batch_lines.state
    {"batch_validating", schemas::BatchStatus::kValidating},
    {"batch_in_progress", schemas::BatchStatus::kInProgress},
    {"first_over", schemas::BatchStatus::kCompleted},  // this one and all above are over
    {"line_pending", LineState::kPending},
    {"line_submitted", LineState::kSubmitted},
    {"first_ended", LineState::kSucceeded},  // this one and all above have ended
    // ssh_sessions.status
    {"ssh_waking", schemas::SshStatus::kWaking},
    {"ssh_ready", schemas::SshStatus::kReady},
    {"ssh_closed", schemas::SshStatus::kClosed},
    {"ssh_failed", schemas::SshStatus::kFailed},
    // webhook_endpoints.status, webhook_deliveries.state
    {"webhook_enabled", schemas::WebhookStatus::kEnabled},
    {"webhook_disabled", schemas::WebhookStatus::kDisabled},
    {"webhook_deleted", schemas::WebhookStatus::kDeleted},
    {"delivery_pending", schemas::DeliveryState::kPending},
    {"delivery_delivered", schemas::DeliveryState::kDelivered},
    {"delivery_failed", schemas::DeliveryState::kFailed},
});

template <std::size_t N>
struct SqlSource {
  consteval SqlSource(const char (&literal)[N]) {  // NOLINT(google-explicit-constructor)
    std::copy_n(literal, N, text);
  }
  char text[N]{};
};

template <std::size_t N>
class SqlText {
 public:
  consteval explicit SqlText(const SqlSource<N>& source) {
    bool quoted = false;
    for (std::size_t at = 0; at + 1 < N; ++at) {
      const char c = source.text[at];
      if (c == '\'') quoted = !quoted;
      if (!quoted && c == '{') {
        add(number_at(source, at + 1));
        while (source.text[at] != '}') ++at;
      } else if (!quoted && (c == ' ' || c == '\n')) {
        if (size_ > 0 && text[size_ - 1] != ' ') add(' ');
      } else {
        add(c);
      }
    }
  }

  char text[N]{};  // no name is shorter than its number

 private:
  // The number of the name that begins at `begin` and ends before the next `}`.
  static consteval std::int64_t number_at(const SqlSource<N>& source, std::size_t begin) {
    for (const SqlName& known : kSqlNames) {
      std::size_t same = 0;
      while (same < known.text.size() && begin + same < N && source.text[begin + same] == known.text[same])
        ++same;
      if (same == known.text.size() && source.text[begin + same] == '}') return known.number;
    }
    throw "no such name in kSqlNames";  // a compile error
  }
  consteval void add(char c) { text[size_++] = c; }
  consteval void add(std::int64_t number) {
    std::array<char, 20> digits{};
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) add(digits[--count]);
  }
  std::size_t size_ = 0;
};

template <SqlSource Source>
constexpr SqlText kSqlText{Source};

template <SqlSource Source>
consteval Sql operator""_sql() {
  return kSqlText<Source>.text;
}

}  // namespace millrace::storage
