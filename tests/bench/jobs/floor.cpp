#include "tests/bench/jobs/floor.h"

#include <vector>

#include <fcntl.h>

#include "tests/bench/jobs/ticks.h"

namespace millrace::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPlaces = 512;  // number of blocks; the writes cycle through them

bool write_at(int fd, const std::vector<char>& bytes, int place) {
  const auto size = static_cast<off_t>(bytes.size());
  return ::pwrite(fd, bytes.data(), bytes.size(), size * (place % kPlaces)) == size;
}

}  // namespace

base::Result<Histogram> measure_floor(const std::string& folder, Pace pace) {
  const std::string path = folder + "/floor";
  const Socket file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.fd() < 0) return system_error(path);
  ::unlink(path.c_str());
  const std::vector<char> bytes(kFloorBytes, 'x');
  for (int place = 0; place < kPlaces; ++place) {
    if (!write_at(file.fd(), bytes, place)) return system_error(path);
  }
  if (::fsync(file.fd()) != 0) return system_error(path);
  Histogram took;
  Ticks ticks(pace.rate);
  const int writes = static_cast<int>(pace.rate * pace.measured.count());
  for (int i = 0; i < writes; ++i) {
    ticks.wait();
    const auto began = Clock::now();
    if (!write_at(file.fd(), bytes, i) || ::fdatasync(file.fd()) != 0) return system_error(path);
    took.add(Clock::now() - began);
  }
  return took;
}

}  // namespace millrace::bench
