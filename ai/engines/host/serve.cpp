#include "ai/engines/host/serve.h"

#include <unistd.h>

#include "ai/engines/host/cpu_bound.h"
#include "ai/engines/host/reader.h"
#include "ai/engines/wire.h"

namespace millrace::engines::host {
namespace {

Event failed(base::Error error) {
  Event event;
  event.kind = Event::Kind::kFailed;
  event.error = std::move(error);
  return event;
}

// One connection to the gateway: requests come one after the other. A gateway that is gone ends the program
// at once.
class Session {
 public:
  explicit Session(int socket)
      : socket_(socket),
        tools_(spawner_, limits_),
        recogniser_(limits_),
        reader_(tools_, limits_, recogniser_) {}

  int run() {
    for (;;) {
      while (auto frame = frames_.next()) {
        auto request = decode_request(*frame);
        if (!request) return 1;
        handle(*request);
      }
      if (frames_.read_some(socket_) == FrameReader::State::kClosed) return 0;
    }
  }

 private:
  void handle(const Request& request) {
    switch (request.kind) {
      case Request::Kind::kLimits:
        limits_ = request.limits;
        return;
      case Request::Kind::kOpen:
        opened_ = reader_.open(frames_.take_fd(), request.media, request.size_bytes);
        return;
      case Request::Kind::kInspect:
        return inspect();
      case Request::Kind::kRecognise:
        return recognise(request);
    }
  }

  void inspect() {
    bound_cpu(limits_.child_cpu());
    if (!opened_) return send(failed(opened_.error()));
    auto pages = reader_.page_count();
    if (!pages) return send(failed(std::move(pages.error())));
    Event event;
    event.kind = Event::Kind::kInfo;
    event.pages = *pages;
    send(event);
  }

  void recognise(const Request& request) {
    if (!opened_) return send(failed(opened_.error()));
    const Sink sink{[this](int page) { begin(page); },
                    [this](PageOutcome outcome) { report(std::move(outcome)); }};
    auto status = reader_.recognise(request.pages, {request.image_data}, sink);
    send(status ? Event{} : failed(std::move(status.error())));
  }

  void begin(int page) {
    bound_cpu(limits_.child_cpu());
    Event event;
    event.kind = Event::Kind::kBegin;
    event.page = page;
    send(event);
  }

  void report(PageOutcome outcome) {
    Event event;
    event.kind = Event::Kind::kPage;
    event.outcome = std::move(outcome);
    send(event);
  }

  void send(const Event& event) {
    if (!send_frame(socket_, encode(event))) ::_exit(0);
  }

  int socket_;
  EngineLimits limits_;
  process::Spawner spawner_;
  Tools tools_;
  Recogniser recogniser_;
  DocumentReader reader_;
  FrameReader frames_;
  base::Status opened_ = base::error(base::Code::kInternal, "no document was opened");
};

}  // namespace

int serve(int socket) { return Session(socket).run(); }

}  // namespace millrace::engines::host
