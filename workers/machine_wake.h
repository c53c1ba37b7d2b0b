#pragma once
#include "machines/driver.h"
#include "platform/net/http_client.h"
#include "platform/process/spawner.h"

namespace millrace::workers {

struct WakeGround {
  process::Spawner& spawner;
  net::HttpClient& http;
  const machines::StopSwitch& stop;
};

// Follows the machine's wake rule: its command, its POST, then its probe until that answers; all within the
// rule's timeout. True at once without a rule; false: told to stop. kMachineWakeFailed. Blocks.
base::Result<bool> follow_wake_rule(const WakeGround& ground, const schemas::Machine& machine);

}  // namespace millrace::workers
