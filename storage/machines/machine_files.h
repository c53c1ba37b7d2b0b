#pragma once
#include "schemas/jobs/job.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// The executions of calls for files of a machine (api/machines/file_handlers.cpp) whose record is of no more
// use. Writes never block; `done` runs on the completion thread after the commit.
class MachineFiles {
 public:
  explicit MachineFiles(Store& store) : store_(store) {}

  // The execution ended without having begun: deletes it with its Idempotency-Key, which a repeat may use for
  // another try. kNotFound: it is gone. kInvalidState: it has not ended.
  void drop_unstarted(Caller by, schemas::JobId job, Callback<bool> done);
  // Nobody will read its end: maintenance deletes it when it has ended.
  void drop_when_ended(Caller by, schemas::JobId job, Callback<bool> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
