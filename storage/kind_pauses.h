#pragma once
#include <vector>

#include "schemas/job.h"
#include "storage/store.h"

namespace millrace::storage {

class Db;

// A kind whose jobs are not begun.
struct PausedKind {
  schemas::Kind kind;
  base::WallTime since{};
};

// Kinds that an operator has stopped for a while: jobs of them are accepted and stay queued, what runs goes
// on to its end, and a job's deadline counts on. It holds from the commit on in every process of the store,
// and through restarts.
class KindPauses {
 public:
  explicit KindPauses(Store& store) : store_(store) {}

  // Moves: `done` with true if that changed anything.
  void pause(schemas::Kind kind, Done<bool> done);
  void resume(schemas::Kind kind, Done<bool> done);
  base::Result<std::vector<PausedKind>> list();  // blocks

 private:
  Store& store_;
};

// Inside storage.
bool is_paused(Db& db, schemas::Kind kind);

}  // namespace millrace::storage
