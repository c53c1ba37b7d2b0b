#include "workers/machine_wake.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "platform/base/net_address.h"
#include "workers/http_ask.h"
#include "workers/tcp_probe.h"
#include "workers/wake_command.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kProbePause{500};
constexpr milliseconds kProbeLongest{5'000};  // one that is not answered
constexpr std::string_view kTcp = "tcp://";

milliseconds left_until(Steady::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Steady::now()));
}

base::Result<bool> post(const WakeGround& ground, const std::string& url, Steady::time_point deadline) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.total_timeout = std::max(milliseconds(1), left_until(deadline));
  const auto status = ask_http(ground.http, std::move(request), ground.stop);
  if (!status) return wake_failed("the wake request was not answered: " + status.error().message);
  if (!*status) return false;
  if (**status >= 200 && **status < 300) return true;
  return wake_failed("the wake request was answered with status " + std::to_string(**status));
}

std::string probe_of(const schemas::Machine& machine, const schemas::WakeRule& rule) {
  if (!rule.probe.empty() || !machine.settings.ssh) return rule.probe;
  const schemas::SshTarget& target = *machine.settings.ssh;
  return std::string(kTcp) + base::NetAddress{target.host, static_cast<std::uint16_t>(target.port)}.str();
}

// Asks once.
bool answers(const WakeGround& ground, const std::string& probe, milliseconds longest) {
  if (probe.starts_with(kTcp)) {
    const auto address = base::parse_net_address(std::string_view(probe).substr(kTcp.size()));
    return address && tcp_answers(ground.spawner, *address, longest, ground.stop);
  }
  net::HttpRequest request;
  request.url = probe;
  request.total_timeout = longest;
  const auto status = ask_http(ground.http, std::move(request), ground.stop);
  return status && *status && **status < 400;
}

base::Result<bool> await(const WakeGround& ground, const std::string& probe, const schemas::WakeRule& rule,
                         Steady::time_point deadline) {
  for (;;) {
    const milliseconds longest = std::clamp(left_until(deadline), milliseconds(1), kProbeLongest);
    if (answers(ground, probe, longest)) return true;
    const milliseconds left = left_until(deadline);
    if (left == milliseconds(0)) {
      return wake_failed("the machine did not answer at " + probe + " within " +
                         std::to_string(rule.timeout.count()) + " ms");
    }
    if (stopped_within(ground.stop, std::min(left, kProbePause))) return false;
  }
}

}  // namespace

base::Result<bool> follow_wake_rule(const WakeGround& ground, const schemas::Machine& machine) {
  if (!machine.settings.wake) return true;
  const schemas::WakeRule& rule = *machine.settings.wake;
  const Steady::time_point deadline = Steady::now() + rule.timeout;
  if (!rule.command.empty()) {
    auto ran = run_wake_command(ground.spawner, machine, rule.command, deadline, ground.stop);
    if (!ran || !*ran) return ran;
  }
  if (!rule.http.empty()) {
    auto posted = post(ground, rule.http, deadline);
    if (!posted || !*posted) return posted;
  }
  const std::string probe = probe_of(machine, rule);
  if (probe.empty()) return true;
  return await(ground, probe, rule, deadline);
}

}  // namespace millrace::workers
