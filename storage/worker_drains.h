#pragma once
#include <string>

#include "storage/store.h"

namespace millrace::storage {

// Drains workers. A worker gets the request with its next heartbeat, finishes its running jobs and stays
// listed. If a worker restarts under the same name, it claims jobs again.
class WorkerDrains {
 public:
  explicit WorkerDrains(Store& store) : store_(store) {}

  // A write. kNotFound: no worker with that name has reported, or it shut down normally.
  void drain(std::string worker, Done<bool> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
