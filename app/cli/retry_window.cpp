#include "app/cli/retry_window.h"

#include "app/cli/interrupt.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::seconds kTroubleMax{120}, kFirstAnswerMax{5};

}  // namespace

bool RetryWindow::allows(const ClientError& error) {
  if (!error.transient) return false;
  const auto now = std::chrono::steady_clock::now();
  const auto wait_max = reached_ || error.exit_code != kNoConnection ? kTroubleMax : kFirstAnswerMax;
  if (!failing_since_) {
    failing_since_ = now;
    progress_.line("Waiting up to " + std::to_string(wait_max.count()) + " s: " + error.message);
  }
  return now - *failing_since_ <= wait_max;
}

void RetryWindow::note_response() {
  reached_ = true;
  failing_since_.reset();
}

Client::Response RetryWindow::send(Interrupt& interrupt, const std::function<Client::Response()>& request) {
  for (;;) {
    Client::Response answer = request();
    if (answer.ok) note_response();
    if (answer.ok || !allows(answer.error)) return answer;
    if (!interrupt.wait(retry_after(answer.reply))) continue;
    answer.error = {kInterrupted, 0, {}, "interrupted", {}, false};
    return answer;
  }
}

}  // namespace millrace::cli
