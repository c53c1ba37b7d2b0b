#pragma once
#include <string>

#include "storage/store.h"

namespace millrace::storage {

// Tells workers to take nothing new. They hear it with their next heartbeat, finish what runs and stay where
// they are, for all to see; one that starts again under the name works again.
class WorkerDrains {
 public:
  explicit WorkerDrains(Store& store) : store_(store) {}

  // A move. kNotFound: no worker of that name has reported, or it left in good order.
  void drain(std::string worker, Done<bool> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
