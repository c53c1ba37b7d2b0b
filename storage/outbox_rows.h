#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/job_rows.h"
#include "storage/store.h"

// Inside storage: who is told of a job that became ready, and when (delivery.md, rule 10).
namespace millrace::storage {

// How many more tokens of the kind may go out (kWindowMin, kWindowPerFreeSlot). Counted in the store: queued
// jobs that are published.
std::int64_t window_room(const Tx& tx, schemas::Kind kind);

// The announcements of one operation. Without an outbox every ready job is announced by the commit; with one
// only those that find room in the window, and the rest waits as queued with published_at = 0.
class Publisher {
 public:
  Publisher(Tx& tx, const Store::Options& options) : tx_(tx), options_(options) {}

  // published_at of a job that the caller is about to make ready; takes the room. 0: it waits. The first of a
  // lane never does as long as kLaneTokensMax allows: jobs of full lanes fill the window for long.
  std::int64_t take_room(const JobRow& row);
  // After the row was written as ready with that published_at.
  void announce(const JobRow& row, std::string traceparent);
  // The job left the queue: nothing of it is under way any more.
  void forget(const JobRow& row);

 private:
  Tx& tx_;
  const Store::Options& options_;
  std::map<schemas::Kind, std::int64_t> room_;
};

// Marks a queued job as published under `epoch` and announces it. False: it was not queued and ready any
// more.
bool publish_now(Tx& tx, JobRow& row, std::int64_t epoch, std::vector<Ready>& out);

}  // namespace millrace::storage
