#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "app/cli/client.h"
#include "app/cli/progress.h"

namespace millrace::cli {

class Interrupt;

// How long a command goes on while the gateway is unreachable, restarts or refuses for a moment: 120 s since
// the first error in a row, or 5 s if the gateway has not answered this command yet. One thread.
class RetryWindow {
 public:
  explicit RetryWindow(Progress& progress) : progress_(progress) {}

  // True: the request may be sent again after a pause. The first error in a row is printed. False: `error` is
  // not transient, or the time is over.
  bool allows(const ClientError& error);
  void note_response();
  bool reached() const { return reached_; }  // the gateway has answered once

  // Sends until it succeeds or must not be sent again, with the pauses that the gateway asks for. A signal
  // ends a pause; the error is kInterrupted then.
  Client::Response send(Interrupt& interrupt, const std::function<Client::Response()>& request);

 private:
  Progress& progress_;
  bool reached_ = false;
  std::optional<std::chrono::steady_clock::time_point> failing_since_;
};

}  // namespace millrace::cli
