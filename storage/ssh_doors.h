#pragma once
#include "platform/base/ids.h"
#include "schemas/ssh_door.h"
#include "storage/store.h"

namespace millrace::storage {

// What becomes of the listener that the worker of this incarnation has for the machine. Blocks: a read.
base::Result<schemas::SshDoor> ssh_door(Store& store, const base::Uuid& machine, const base::Uuid& worker);

}  // namespace millrace::storage
