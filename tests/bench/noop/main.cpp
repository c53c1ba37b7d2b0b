// bench_noop: our front end with a handler that responds with 202 to every POST and does nothing. It is the
// baseline for a durable accept.

#include <csignal>
#include <iostream>

#include "api/front/server.h"

namespace {

using namespace millrace;

class Noop final : public front::Application {
 public:
  front::Admission admit(const front::Head&) override {
    return front::Admit{.body_max = 1u << 20, .request_state = {}};
  }

  void run(front::Request request, front::Responder responder) override {
    front::Reply reply{.status = request.head.method == "POST" ? 202 : 405,
                       .content_type = "application/json",
                       .headers = {},
                       .body = "{}"};
    responder.send(std::move(reply));
  }

  front::Reply error_reply(int status, std::string_view message, const front::Head&) override {
    return {.status = status, .content_type = "text/plain", .headers = {}, .body = std::string(message)};
  }
};

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  Noop application;
  front::Server server({.host = "127.0.0.1", .port = 0, .threads = 1, .limits = {}}, application);
  if (const auto started = server.start(); !started) {
    std::cerr << "bench_noop: " << started.error().message << '\n';
    return 1;
  }
  std::cout << "millrace ready http://127.0.0.1:" << server.port() << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  server.stop();
  return 0;
}
