#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/jobs/job_rows.h"
#include "storage/store.h"

// Inside storage: when a ready job is published to the workers (docs/design/delivery.md §2, rule 10).
namespace millrace::storage {

// How many more tokens of the kind may be published (kWindowMin, kWindowPerFreeSlot). Computed from the
// store: queued jobs that are published.
std::int64_t free_window_slots(const Tx& tx, schemas::Kind kind);

// The publications of one operation. Without an outbox, the commit lists every ready job. With an outbox, it
// lists only the jobs that get a slot in the window; the other jobs stay queued with published_at = 0.
class Publisher {
 public:
  Publisher(Tx& tx, const Store::Options& options) : tx_(tx), options_(options) {}

  // The published_at of a job that the caller is about to make ready; takes a window slot. 0: the job stays
  // unpublished. The first job of a lane is always published, up to kLaneTokensMax, because jobs of full
  // lanes can fill the window for a long time.
  std::int64_t take_window_slot(const JobRow& row);
  // Call after the row was written as ready with that published_at.
  void publish(const JobRow& row, std::string traceparent);
  // Call when the job has left the queue: deletes its outbox row.
  void unpublish(const JobRow& row);

 private:
  Tx& tx_;
  const Store::Options& options_;
  std::map<schemas::Kind, std::int64_t> free_slots_;
};

// Marks a queued job as published with `epoch` and publishes it. False: the job was no longer queued and
// ready.
bool publish_now(Tx& tx, JobRow& row, std::int64_t epoch, std::vector<ReadyJob>& out);

}  // namespace millrace::storage
