#include "app/cli/machine_wait.h"

#include <algorithm>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/growing_pause.h"
#include "app/cli/interrupt.h"
#include "platform/base/bytes.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kLongestPause{1'000};

int failed(const json& machine, const std::string& what) {
  std::cerr << "millrace: " << machine.value("name", "") << " (" << machine.value("machine_id", "") << ") "
            << what << '\n';
  return kFailed;
}

std::string last_error(const json& machine) {
  const std::string reason = machine.value("status", json::object()).value("last_error", "");
  return "has failed" + (reason.empty() ? "" : ": " + reason);
}

}  // namespace

int wait_for_phase(Client& client, Interrupt& interrupt, const std::string& phase, milliseconds limit,
                   json& machine) {
  const auto deadline = Steady::now() + limit;
  const std::string path = "/v1/machines/" + percent_encoded(machine.value("machine_id", ""));
  GrowingPause pauses;
  for (;;) {
    const std::string now = machine.value("phase", "");
    if (now == phase) return kOk;
    if (now == "failed") return failed(machine, last_error(machine));
    const std::string desired = machine.value("desired_state", phase);
    if (desired != phase) return failed(machine, "is wanted " + desired + " by now");
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now());
    if (left.count() <= 0)
      return failed(machine, "is still " + now + " after " + base::format_duration(limit));
    if (interrupt.wait(pauses.next(std::min(left, kLongestPause)))) return kInterrupted;
    const auto answer = client.request("GET", path);
    const bool gone = phase == kGone && answer.error.exit_code == kNotFound;
    if (gone) machine["phase"] = kGone;
    if (!answer.ok && !answer.error.transient && !gone) return fail(answer.error);
    if (answer.ok) machine = *answer.json;
  }
}

}  // namespace millrace::cli
