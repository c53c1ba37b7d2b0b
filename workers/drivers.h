#pragma once
#include <functional>
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"

namespace millrace::workers {

// The drivers of this host; null: it has none of that kind.
using Drivers = std::function<machines::Driver*(schemas::MachineDriver)>;

// For whoever owns the machine; why it is so stands in the log.
inline base::Error no_such_driver(schemas::MachineDriver driver) {
  return base::error(base::Code::kMachineNotRoutable,
                     "machines of driver `" + std::string(schemas::name(driver)) +
                         "` cannot be used on this host; `millrace doctor` says why");
}

}  // namespace millrace::workers
