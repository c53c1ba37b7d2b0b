#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

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

}  // namespace millrace::workers
