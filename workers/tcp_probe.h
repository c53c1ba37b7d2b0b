#pragma once
#include <chrono>

#include "machines/driver.h"
#include "platform/base/net_address.h"
#include "platform/process/spawner.h"

namespace millrace::workers {

// True if one of the name's addresses takes a connection, which is closed at once. Blocks for `longest`,
// resolving the name included; ends early when told to stop.
bool tcp_answers(process::Spawner& spawner, const base::NetAddress& address,
                 std::chrono::milliseconds longest, const machines::StopSwitch& stop);

}  // namespace millrace::workers
