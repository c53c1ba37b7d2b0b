#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "machines/driver.h"
#include "platform/base/net_address.h"
#include "platform/net/http/http_client.h"
#include "platform/process/spawner.h"

namespace millrace::workers {

// The status that a request is answered with; nothing of the reply's body is read. nullopt: told to stop.
// kUpstream, kUpstreamTimeout. Blocks for `request.total_timeout` at most; never on the client's loop.
base::Result<std::optional<int>> send_http_request(net::HttpClient& client, net::HttpRequest request,
                                                   const machines::CancelToken& stop);

// Waits; true: told to stop before `pause` was over.
bool stopped_within(const machines::CancelToken& stop, std::chrono::milliseconds pause);

// True if one of the name's addresses takes a connection, which is closed at once. Blocks for `longest`,
// resolving the name included; ends early when told to stop.
bool tcp_answers(process::Spawner& spawner, const base::NetAddress& address,
                 std::chrono::milliseconds longest, const machines::CancelToken& stop);

base::Error wake_failed(std::string message);  // kMachineWakeFailed

// A wake command of the operator's, on the gateway's host: no shell; `argv[0]` is an absolute path; it is
// told MILLRACE_MACHINE_ID and MILLRACE_MACHINE_NAME and keeps PATH and HOME of the gateway. Blocks until it
// has exited with 0 (true), or it is told to stop (false). kMachineWakeFailed: it ended otherwise, with the
// last line that it wrote, or not before `deadline`. What it left running in its process group is killed. It
// dies with this process.
base::Result<bool> run_wake_command(process::Spawner& spawner, const schemas::Machine& machine,
                                    const std::vector<std::string>& argv,
                                    std::chrono::steady_clock::time_point deadline,
                                    const machines::CancelToken& stop);

struct WakeDependencies {
  process::Spawner& spawner;
  net::HttpClient& http;
  const machines::CancelToken& stop;
};

// Follows the machine's wake rule: its command, its POST, then its probe until that answers; all within the
// rule's timeout. True at once without a rule; false: told to stop. kMachineWakeFailed. Blocks.
base::Result<bool> follow_wake_rule(const WakeDependencies& dependencies, const schemas::Machine& machine);

}  // namespace millrace::workers
