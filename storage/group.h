#pragma once
#include <vector>

#include "storage/announcer.h"
#include "storage/clock_watch.h"
#include "storage/operation_queue.h"
#include "storage/sqlite.h"

namespace millrace::storage {

// A parked operation: it found no work and waits for ready jobs of its kind (Tx::parked_for).
struct Standing {
  Queued order;
  schemas::Kind kind;
};

// One BEGIN IMMEDIATE … COMMIT over the operations that arrive while it runs. Commit thread only; the fair
// write lock is held.
class Group {
 public:
  struct Limits {
    OperationQueue::Bounds bounds;
    std::chrono::milliseconds wait_max{2};
  };
  struct Context {
    Db& db;
    OperationQueue& queue;
    ClockWatch& clocks;
    const base::Clock& clock;
    std::string boot_id;
    Limits limits;
    std::vector<Standing> standing{};
  };

  explicit Group(Context& context) : context_(context), room_(context.limits.bounds) {}

  // Takes operations from the queue until it is empty or a limit is reached, runs them and commits. If an
  // operation throws, or COMMIT reports a full disk, everything is rolled back and each operation is retried
  // alone, urgent ones first, otherwise in the same order. If the transaction cannot begin, that error is the
  // outcome of all operations. Any other failure of COMMIT ends the process. Returns true if the first try
  // succeeded.
  bool run();

  std::size_t size() const { return operations_.size(); }
  // After run: the outcomes to dispatch. Parked operations stay in the context.
  Announcement announcement();

 private:
  bool run_together(std::optional<SqliteError>& failure);
  bool collect(Tx& tx);
  void run_at(std::size_t index, Tx& tx);
  void ask_standing(Tx& tx);
  void run_alone();
  base::Status attempt(std::size_t index);
  template <class F>
  void transaction(F&& f);

  Context& context_;
  OperationQueue::Bounds room_;
  bool begun_ = false;
  std::vector<Queued> operations_;
  std::vector<base::Status> outcomes_;
  std::vector<std::optional<schemas::Kind>> stands_for_;
  std::vector<Commit> commits_;
};

}  // namespace millrace::storage
