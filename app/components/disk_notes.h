#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "platform/base/ids.h"
#include "platform/net/loop.h"

namespace millrace::app {

// Notes in the rows of machines whether their disks are writable. A note that the store refuses, for example
// because its own disk is full, is written again after a pause, until it is noted or a newer one replaces it.
// Thread-safe; never blocks.
class DiskNotes {
 public:
  // Writes one note; calls `done` once with whether it was written.
  using Write =
      std::function<void(const base::Uuid& machine, bool is_writable, std::function<void(bool)> done)>;

  // `loop` must outlive this object. A call of `write` that has begun may end after the destructor; none
  // begins after it.
  DiskNotes(net::Loop& loop, std::chrono::milliseconds pause, Write write);
  ~DiskNotes();
  DiskNotes(const DiskNotes&) = delete;
  DiskNotes& operator=(const DiskNotes&) = delete;

  void note(const base::Uuid& machine, bool is_writable);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace millrace::app
