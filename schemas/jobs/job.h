#pragma once
#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "platform/base/result.h"

namespace millrace::schemas {

// What a worker can do. A new kind: one enumerator, one row in job.cpp, one in jobs/policy.cpp, one runner.
// `kMachine` is internal: the acts of machines, run by the workers of kind exec and not listed.
enum class Kind : std::uint8_t { kOcr = 1, kExec = 2, kMachine = 3, kChat = 4, kStt = 5 };
inline constexpr std::array kKinds = {Kind::kOcr, Kind::kExec, Kind::kMachine, Kind::kChat, Kind::kStt};

std::string_view name(Kind kind);    // "ocr": in topics, flags, JSON
std::string_view prefix(Kind kind);  // "ocr-": of job ids
std::optional<Kind> kind_named(std::string_view name);
// Its owner can have a job of that kind run again from what is stored of it, once it failed, expired or was
// cancelled. Executions: what they were given goes with their end.
constexpr bool can_be_retried(Kind kind) { return kind != Kind::kExec && kind != Kind::kMachine; }

// A job's name to the outside: the kind's prefix and a UUIDv7. Storage keys are the 16 bytes alone.
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

// docs/design/delivery.md, States. `kWaiting` is a parent whose children run; the outside sees it as running.
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
// `waking`: queued, and its machine is not awake: "wake_in_progress".
std::string_view public_status(JobStatus status, bool waking);
struct JobView;
std::string_view public_status(const JobView& job);
// Every public status that the name stands for ("running" → kRunning, kWaiting); empty: no such name.
std::optional<std::string_view> known_status(std::string_view name);
constexpr bool is_terminal(JobStatus s) { return s >= JobStatus::kSucceeded; }

// How a job is run again. At-most-once is fixed at submission and never returns to the queue once claimed.
enum class Rerun : std::uint8_t { kAtLeastOnce = 0, kAtMostOnce = 1 };

// A job's error as stored and shown: {code, message, param?}.
struct JobError {
  base::Code code = base::Code::kInternal;
  std::string message;
  std::string param = {};  // the field it is about, or empty
  friend bool operator==(const JobError&, const JobError&) = default;
};

// A job as its owner sees it (docs/design/http-contract.md §6): what `GET /v1/jobs/{id}` is made of.
struct JobView {
  JobId id;
  std::string tenant;
  JobStatus status = JobStatus::kQueued;
  std::string model;
  std::string name{};  // of its document or recording (job_name.h); read where jobs are shown, else empty
  int priority = 0;
  int attempt = 0;  // how often it has begun; what puts the parts of a split job together does not count
  std::int64_t version = 1;  // of its newest event
  bool cancel_requested = false;
  bool waking = false;  // queued, and its machine is not awake: shown as "wake_in_progress"
  base::WallTime created_at{};
  std::optional<base::WallTime> started_at, completed_at;
  base::WallTime deadline{};                        // not started before it: expired
  std::optional<base::WallTime> result_expires_at;  // terminal: when the result goes
  int progress_done = 0, progress_total = 0;        // total 0: unknown
  std::optional<JobError> error;
  std::optional<JobId> retry_of;
  bool has_result = false;
};

// One line of a job's history. Versions are gap-free from 1; version 1, at created_at, is `queued`, or
// `wake_in_progress` of a job that waited for its machine.
struct JobEvent {
  std::int64_t version = 0;
  base::WallTime at{};
  std::string type;  // queued, running, retry, waiting, page, progress, succeeded, failed, cancelled, expired
  std::string data;  // a JSON object
};

// A job that changed: it is at this version now. Sent to waiters, event streams and, with Kafka, to other
// processes (topic `millrace.events`). A receiver that needs more reads the rows after the version that it
// has. It may be lost.
struct JobChange {
  JobId job;
  std::string tenant;
  std::int64_t version = 0;
  JobStatus status = JobStatus::kQueued;
  bool waking = false;  // queued, and its machine is not awake
};

// Tokens of one partition of a kind's topic that no claim has been decided for.
struct PartitionLag {
  int partition = 0;
  std::int64_t tokens = 0;
};

}  // namespace millrace::schemas
