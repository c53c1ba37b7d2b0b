#include "workers/http_ask.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "platform/base/fd.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;

// Past the client's own time-out, which answers first.
constexpr milliseconds kSlack{2'000};

// Told once, on the client's loop.
class Reply {
 public:
  Reply() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return event_.get(); }
  void tell(base::Result<int> status) {
    const std::lock_guard lock(mutex_);
    if (status_) return;
    status_ = std::move(status);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }
  std::optional<base::Result<int>> told() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  base::Fd event_;
  std::mutex mutex_;
  std::optional<base::Result<int>> status_;
};

net::HttpClient::Handlers handlers_for(const std::shared_ptr<Reply>& reply) {
  net::HttpClient::Handlers handlers;
  handlers.on_head = [reply](const net::HttpReply& head) { reply->tell(head.status); };
  handlers.on_data = [](std::string_view) { return false; };
  handlers.on_done = [reply](const base::Result<net::HttpReply>& done) {
    reply->tell(done ? base::Result<int>(done->status) : base::Result<int>(done.error()));
  };
  return handlers;
}

}  // namespace

bool stopped_within(const machines::StopSwitch& stop, milliseconds pause) {
  pollfd waited{stop.fd(), POLLIN, 0};
  return ::poll(&waited, 1, static_cast<int>(pause.count())) == 1;
}

base::Result<std::optional<int>> ask_http(net::HttpClient& client, net::HttpRequest request,
                                          const machines::StopSwitch& stop) {
  const milliseconds longest = request.total_timeout + kSlack;
  const auto reply = std::make_shared<Reply>();
  if (reply->fd() < 0) return base::error(base::Code::kOverloaded, "no descriptor is left for a request");
  const auto transfer = client.start(std::move(request), handlers_for(reply));
  std::array<pollfd, 2> waited{{{reply->fd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}}};
  ::poll(waited.data(), waited.size(), static_cast<int>(longest.count()));
  client.cancel(transfer);
  if (waited[1].revents != 0) return std::optional<int>();
  const auto told = reply->told();
  if (!told) return base::error(base::Code::kUpstreamTimeout, "it did not answer in time");
  if (!*told) return told->error();
  return std::optional<int>(**told);
}

}  // namespace millrace::workers
