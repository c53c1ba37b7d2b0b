#pragma once
#include <vector>

#include "storage/announcer.h"
#include "storage/clock_watch.h"
#include "storage/operation_queue.h"
#include "storage/sqlite.h"

namespace millrace::storage {

// An operation that found nothing to do and waits for ready jobs of its kind (Tx::stands_for).
struct Standing {
  Queued order;
  schemas::Kind kind;
};

// One BEGIN IMMEDIATE … COMMIT over operations that arrive while it runs. Commit thread only, under the
// turnstile.
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

  // Takes from the queue until it is empty or a limit is reached, and commits. If anything throws or COMMIT
  // finds the disk full, all is rolled back and each operation is tried alone, in the same order: urgent ones
  // first. If the transaction cannot even begin, that is the answer to all. Any other failure of COMMIT ends
  // the process. True: at first try.
  bool run();

  std::size_t size() const { return operations_.size(); }
  // After run: what is to be told. Operations that stand wait in the context from then on.
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
