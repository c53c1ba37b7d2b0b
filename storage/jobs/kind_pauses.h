#pragma once
#include <vector>

#include "schemas/jobs/job.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"

namespace millrace::storage {

class Db;

// A paused kind: its jobs are not started.
struct PausedKind {
  schemas::Kind kind;
  base::WallTime since{};
};

// Kinds that an operator has paused. Their jobs are accepted and stay queued, running jobs continue to their
// end, and deadlines still apply. A pause takes effect with its commit in every process of the store, and
// survives restarts.
class KindPauses {
 public:
  explicit KindPauses(Store& store) : store_(store) {}

  // Writes; `done` gets true if the state changed. Only a change is audited.
  void pause(schemas::Kind kind, Callback<bool> done, Caller by = {});
  void resume(schemas::Kind kind, Callback<bool> done, Caller by = {});
  base::Result<std::vector<PausedKind>> list();  // blocks

 private:
  Store& store_;
};

// Inside storage.
bool is_paused(Db& db, schemas::Kind kind);

}  // namespace millrace::storage
