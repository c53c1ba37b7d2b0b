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

// Sends the request and returns the response's status; the body is not read. nullopt: a stop was requested.
// kUpstream, kUpstreamTimeout. Blocks for at most `request.total_timeout`; never call it on the client's
// loop.
base::Result<std::optional<int>> send_http_request(net::HttpClient& client, net::HttpRequest request,
                                                   const machines::CancelToken& stop);

// Waits for `pause`; true: a stop was requested before its end.
bool wait_for_cancel(const machines::CancelToken& stop, std::chrono::milliseconds pause);

// True if one of the name's addresses accepts a connection, which is closed at once. Blocks for at most
// `longest`, including name resolution; returns early when a stop is requested.
bool is_tcp_reachable(process::Spawner& spawner, const base::NetAddress& address,
                      std::chrono::milliseconds longest, const machines::CancelToken& stop);

base::Error wake_failed(std::string message);  // kMachineWakeFailed

// Runs the operator's wake command on the gateway's host, without a shell. `argv[0]` is an absolute path. Its
// environment has MILLRACE_MACHINE_ID and MILLRACE_MACHINE_NAME, and the gateway's PATH and HOME. Blocks
// until the command exits with 0 (true) or a stop is requested (false). kMachineWakeFailed: it ended
// otherwise (the message has its last line of output) or was still running at `deadline`. Processes that it
// left in its process group are killed. The command dies with this process.
base::Result<bool> run_wake_command(process::Spawner& spawner, const schemas::Machine& machine,
                                    const std::vector<std::string>& argv,
                                    std::chrono::steady_clock::time_point deadline,
                                    const machines::CancelToken& stop);

struct WakeDependencies {
  process::Spawner& spawner;
  net::HttpClient& http;
  const machines::CancelToken& stop;
};

// Applies the machine's wake rule: its command, its POST, then its probe until that succeeds; all within the
// rule's timeout. Without a rule, returns true at once. False: a stop was requested. kMachineWakeFailed.
// Blocks.
base::Result<bool> apply_wake_rule(const WakeDependencies& dependencies, const schemas::Machine& machine);

}  // namespace millrace::workers
