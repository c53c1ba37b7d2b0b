#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"
#include "workers/jobs/callback_run.h"
#include "workers/runner.h"

namespace millrace::workers {

// Writes parts of the root job (pages, pieces of a recording) to the store in small batches: while one batch
// is written, the next one fills. Large parts become blobs first. Loop thread only.
class PartWriter : public std::enable_shared_from_this<PartWriter> {
 public:
  explicit PartWriter(AttemptContext& context) : context_(context) {}

  void add(int index, std::string json);
  // Calls `done` when everything added so far is in the store; false: the store refused it, the lease is
  // lost.
  void flush(std::function<void(bool held)> done);
  // The run ends: parts not yet written are dropped, and the context is not used any more.
  void abandon() { lost_ = true; }

 private:
  void write();
  void stage_large(int index, std::string json);
  void settle();

  AttemptContext& context_;
  std::deque<storage::JobOutcomes::Part> waiting_;
  std::size_t staging_ = 0;
  bool writing_ = false;
  bool lost_ = false;
  std::function<void(bool)> flushed_;
  std::map<int, net::Loop::Timer> again_;  // retry timers, by part
};

// An attempt at a job that an engine processes in parts (pages, pieces of a recording). Each part is stored
// when it is done, so no later attempt repeats it. If a part crashes its engine process, up to three attempts
// try it; the second and third send one part per call. Then only this part fails.
class PartitionedRun : public CallbackRun {
 protected:
  PartitionedRun(std::string_view step, storage::Claimed job, AttemptContext& context, Runner::Ended ended);

  // Sets the parts of this attempt: `indices` without the parts that an earlier attempt has `finished`.
  void start_missing(const std::vector<int>& indices, const std::vector<int>& finished);
  // Processes the remaining parts, then calls `conclude`. All parts go in one call; after a crash, one per
  // call, which identifies the part that crashes.
  void work();
  void part(int index, const std::string& json, bool good);
  // The end callback that `recognise` passes to its engine. Any thread.
  std::function<void(engines::EngineResult)> on_end();
  void flush_then(std::function<void()> then);

  // Starts a call for these parts. Each finished part calls `part`; the end calls `on_end`. kOverloaded:
  // retry later.
  virtual base::Result<Cancel> recognise(std::vector<int> parts) = 0;
  // Every part is in the store.
  virtual void merge_parts() = 0;
  // The error of a part that crashed its engine process.
  virtual base::Error crash_error(int part) const = 0;
  virtual std::string failed_part(int part, const base::Error& error) const = 0;
  virtual void count(bool good) const = 0;

 private:
  void engine_ended(const engines::EngineResult& how);
  void crashed(int suspect_part);
  void before_end() override { writer_->abandon(); }
  bool isolated() const { return job().crashes > 0; }

  std::shared_ptr<PartWriter> writer_;
  std::set<int> left_;
};

}  // namespace millrace::workers
