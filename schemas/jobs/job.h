#pragma once
#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "platform/base/result.h"

namespace millrace::schemas {

// What a job does. A new kind needs one enumerator, one row in job.cpp, one in jobs/policy.cpp, and one
// runner. `kMachine` is internal: the acts of machines, which workers of kind exec run; these jobs are not
// listed.
enum class Kind : std::uint8_t { kOcr = 1, kExec = 2, kMachine = 3, kChat = 4, kStt = 5 };
inline constexpr std::array kKinds = {Kind::kOcr, Kind::kExec, Kind::kMachine, Kind::kChat, Kind::kStt};

std::string_view name(Kind kind);    // "ocr": in topics, flags, JSON
std::string_view prefix(Kind kind);  // "ocr-": of job ids
std::optional<Kind> kind_named(std::string_view name);
// True: the owner can retry a failed, expired or cancelled job of the kind from its stored data. The input of
// executions is deleted when they end, so they cannot be retried.
constexpr bool can_be_retried(Kind kind) { return kind != Kind::kExec && kind != Kind::kMachine; }

// The public id of a job: the kind's prefix and a UUIDv7. Storage keys are only the 16 bytes of the UUID.
struct JobId {
  Kind kind = Kind::kOcr;
  base::Uuid uuid;

  std::string str() const;
  static std::optional<JobId> parse(std::string_view text);
  friend auto operator<=>(const JobId&, const JobId&) = default;
};
struct JobIdHash {
  std::size_t operator()(const JobId& id) const noexcept { return base::UuidHash{}(id.uuid); }
};

// docs/design/delivery.md, States. `kWaiting` is a parent whose children run; the API shows it as running.
enum class JobStatus : std::uint8_t {
  kQueued = 0,
  kRunning = 1,
  kWaiting = 2,
  kSucceeded = 3,
  kFailed = 4,
  kCancelled = 5,
  kExpired = 6,
};
std::string_view public_name(JobStatus status);  // "running" for kWaiting
// `waking`: queued, and its machine is not awake: "wake_in_progress". `scheduled`: queued until its run_at.
std::string_view public_status(JobStatus status, bool waking, bool scheduled = false);
struct JobView;
std::string_view public_status(const JobView& job);
// The static text of a public status; nullopt: there is no such status.
std::optional<std::string_view> known_status(std::string_view name);
constexpr bool is_terminal(JobStatus s) { return s >= JobStatus::kSucceeded; }

// Whether a job may run again after a lost attempt; fixed at submission. An at-most-once job never returns to
// the queue after it was claimed.
enum class Rerun : std::uint8_t { kAtLeastOnce = 0, kAtMostOnce = 1 };

// When a job starts at the earliest, as its request says: a wall time, or a time from its acceptance on.
using JobStart = std::variant<base::WallTime, std::chrono::milliseconds>;

// A job's error as stored and as returned by the API: {code, message, param?}.
struct JobError {
  base::Code code = base::Code::kInternal;
  std::string message;
  std::string param = {};  // the field that the error is about, or empty
  friend bool operator==(const JobError&, const JobError&) = default;
};

// A job as its owner sees it (docs/design/http-contract.md §6): the data of `GET /v1/jobs/{id}`.
struct JobView {
  JobId id;
  std::string tenant;
  JobStatus status = JobStatus::kQueued;
  std::string model;
  std::string metadata{};  // schemas::Metadata as JSON; empty: none
  std::string name{};      // of its document or recording (job_name.h); set only where jobs are shown
  int priority = 0;
  int attempt = 0;           // number of attempts; the one that joins the parts of a split job does not count
  std::int64_t version = 1;  // of its newest event
  bool cancel_requested = false;
  bool waking = false;     // queued, and its machine is not awake: the API shows "wake_in_progress"
  bool scheduled = false;  // queued until `run_at`: the API shows "scheduled"
  base::WallTime created_at{};
  std::optional<base::WallTime> run_at{};  // only while it is scheduled
  std::optional<base::WallTime> started_at, completed_at;
  base::WallTime deadline{};                        // a job not started before it expires
  std::optional<base::WallTime> result_expires_at;  // of a terminal job: when the result is deleted
  int progress_done = 0, progress_total = 0;        // total 0: unknown
  std::optional<JobError> error;
  std::optional<JobId> retry_of;
  std::optional<JobId> retried_by{};  // of a job that did not succeed: its newest retry that still exists
  bool has_result = false;
};

// One entry of a job's history. Versions have no gaps and start at 1. Version 1, at created_at, is `queued`,
// `wake_in_progress` for a job that waited for its machine, or `scheduled` for one with a run_at.
struct JobEvent {
  std::int64_t version = 0;
  base::WallTime at{};
  std::string type;  // queued, running, retry, waiting, page, progress, succeeded, failed, cancelled, expired
  std::string data;  // a JSON object
};

// A job that has not started after this time expires, unless the request or the kind says otherwise.
inline constexpr std::chrono::hours kDefaultJobDeadline{24};

// A job has changed and is now at this version. Sent to waiters, event streams and, with Kafka, to other
// processes (topic `millrace.events`). A receiver that needs more reads the rows after its last version. The
// message may be lost.
struct JobChange {
  JobId job;
  std::string tenant;
  std::int64_t version = 0;
  JobStatus status = JobStatus::kQueued;
  bool waking = false;     // queued, and its machine is not awake
  bool scheduled = false;  // queued until its run_at
  friend bool operator==(const JobChange&, const JobChange&) = default;
};

// The undecided tokens of one partition of a kind's topic.
struct PartitionLag {
  int partition = 0;
  std::int64_t tokens = 0;
};

}  // namespace millrace::schemas
