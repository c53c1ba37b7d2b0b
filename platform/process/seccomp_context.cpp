#include "platform/process/seccomp_context.h"

#include <seccomp.h>
#include <unistd.h>

#include "platform/base/fd.h"

namespace millrace::process {

void SeccompRelease::operator()(void* context) const { seccomp_release(context); }

base::Result<std::string> seccomp_bytes(const SeccompContext& context) {
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE,
                   2);  // a binary tree instead of a list: cheaper calls
  auto pipe = base::make_pipe();
  if (!pipe) return std::move(pipe.error());
  // The filter has about 2 KB, so it fits into the pipe.
  if (seccomp_export_bpf(context.get(), pipe->write.get()) != 0) {
    return base::error(base::Code::kInternal, "libseccomp cannot write its filter");
  }
  pipe->write.reset();
  std::string bytes;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::read(pipe->read.get(), buffer, sizeof buffer)) > 0) {
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  return bytes;
}

}  // namespace millrace::process
