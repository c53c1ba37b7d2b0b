#include "machines/driver.h"

#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::machines {
namespace {

void announce(int event) {
  const std::uint64_t one = 1;
  // Fails only when the counter is at its maximum; the eventfd is then readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

}  // namespace

CancelToken::CancelToken()
    : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), killed_(std::make_shared<std::atomic<bool>>(false)) {}

void CancelToken::stop() { announce(event_.get()); }

void CancelToken::kill() {
  killed_->store(true);
  announce(event_.get());
}

bool CancelToken::is_requested() const {
  pollfd waited{event_.get(), POLLIN, 0};
  return ::poll(&waited, 1, 0) == 1;
}

bool CancelToken::killed() const { return killed_->load(); }

}  // namespace millrace::machines
