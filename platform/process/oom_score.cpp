#include "platform/process/oom_score.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "platform/base/fd.h"

namespace millrace::process {
namespace {

constexpr int kMore = 500;
constexpr int kMost = 1000;

}  // namespace

void offer_to_oom_killer() {
  const base::Fd file(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
  char text[16]{};
  if (!file || ::pread(file.get(), text, sizeof text - 1, 0) <= 0) return;
  const std::string score = std::to_string(std::min(std::atoi(text) + kMore, kMost));
  static_cast<void>(!::pwrite(file.get(), score.data(), score.size(), 0));
}

}  // namespace millrace::process
