#include "api/front/vigil.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::front {

Vigil::Vigil(std::chrono::microseconds most)
    : most_(most), fd_(most > most.zero() ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) {}

Vigil::~Vigil() {
  if (fd_ >= 0) ::close(fd_);
}

void Vigil::turn_ended(bool brought_something, bool is_due, Clock::time_point now) {
  if (brought_something) last_brought_ = now;
  const bool wanted = fd_ >= 0 && is_due && now - last_brought_ < most_;
  if (wanted == awake_) return;
  awake_ = wanted;
  std::uint64_t count = 1;
  if (wanted) {
    [[maybe_unused]] const auto written = ::write(fd_, &count, sizeof count);
  } else {
    [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
  }
}

}  // namespace millrace::front
