#include "api/front/vigil.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::front {

Vigil::~Vigil() {
  if (fd_ >= 0) ::close(fd_);
}

int Vigil::begin() {
  if (fd_ < 0 && most_ > most_.zero()) fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd_;
}

void Vigil::turn_ended(bool has_come, bool is_due, Clock::time_point now) {
  if (has_come || !was_due_) since_ = now;
  was_due_ = is_due;
  stay_awake(fd_ >= 0 && is_due && now - since_ < most_);
}

void Vigil::stay_awake(bool wanted) {
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
