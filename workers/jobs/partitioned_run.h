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

// Parts of the root job (pages, pieces of a recording) on their way into the store, in small batches: while
// one is written, the next gathers. Large ones become blobs first. Loop thread only.
class PartWriter : public std::enable_shared_from_this<PartWriter> {
 public:
  explicit PartWriter(AttemptContext& context) : context_(context) {}

  void add(int index, std::string json);
  // Calls back once everything added so far is in the store; false: the store refused it, the lease is lost.
  void flush(std::function<void(bool held)> done);
  // The run ends: what is not written yet is dropped, the context is not used again.
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
  std::map<int, net::Loop::Timer> again_;  // by part
};

// An attempt at a job that an engine does part by part (pages, pieces of a recording), each stored as it is
// done, so that no attempt does one twice. A part that ends its engine child is tried by three attempts, the
// later ones part by part, then fails alone.
class PartitionedRun : public CallbackRun {
 protected:
  PartitionedRun(std::string_view step, storage::Claimed job, AttemptContext& context, Runner::Ended ended);

  // The parts of this attempt: `wanted` without those that an earlier one has `finished`.
  void start_missing(const std::vector<int>& indices, const std::vector<int>& finished);
  // Does what is left, then `conclude`. All parts in one call; after a crash one by one, so that it is plain
  // which one it was.
  void work();
  void part(int index, const std::string& json, bool good);
  // How the call under way ended: what `recognise` is to give its engine. Any thread.
  std::function<void(engines::EngineEnd)> on_end();
  void write_and(std::function<void()> then);

  // Begins a call for these parts; each becomes a `part`, then `on_end`. kOverloaded: not now.
  virtual base::Result<Cancel> recognise(std::vector<int> parts) = 0;
  // Every part is in the store.
  virtual void conclude() = 0;
  // Of one that ended the process it was read by.
  virtual base::Error crash_error(int part) const = 0;
  virtual std::string failed_part(int part, const base::Error& error) const = 0;
  virtual void count(bool good) const = 0;

 private:
  void engine_ended(const engines::EngineEnd& how);
  void crashed(int blamed);
  void ending() override { writer_->abandon(); }
  bool isolated() const { return job().crashes > 0; }

  std::shared_ptr<PartWriter> writer_;
  std::set<int> left_;
};

}  // namespace millrace::workers
