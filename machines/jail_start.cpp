#include "machines/jail_start.h"

#include <fcntl.h>
#include <unistd.h>

#include "platform/process/jail_words.h"

namespace millrace::machines {
namespace {

constexpr int kPipeBytes = 256 << 10;

base::Result<base::Pipe> output_pipe(uid_t uid) {
  auto pipe = base::make_pipe();
  // So that the command may open its /dev/stdout.
  if (pipe && ::geteuid() == 0 && ::fchown(pipe->write.get(), uid, uid) != 0) {
    return base::error(base::Code::kHostAgentFailed, "a pipe cannot be given to the machine's uid");
  }
  // A larger one only makes it faster; the kernel may refuse it to a user who has many.
  if (pipe) ::fcntl(pipe->write.get(), F_SETPIPE_SZ, kPipeBytes);
  return pipe;
}

struct BothEnds {
  JailEnds theirs;
  JailLink link;
  base::Fd output;
  base::Fd errors;
  base::Fd setup_errors;
};

base::Result<BothEnds> make_ends(const CommandOrder& order, const JailParts& parts, const JailSite& site) {
  auto link = JailLink::make();
  if (!link) return std::move(link.error());
  auto file =
      process::memory_file(jail_order(order, jail_limits(order.machine, parts.limits, site, order.timeout)));
  if (!file) return std::move(file.error());
  auto filter = process::memory_file(parts.filter);
  if (!filter) return std::move(filter.error());
  auto input = process::memory_file(order.input);
  if (!input) return std::move(input.error());
  auto output = output_pipe(site.uid);
  if (!output) return std::move(output.error());
  auto errors = output_pipe(site.uid);
  if (!errors) return std::move(errors.error());
  auto setup = base::make_pipe();
  if (!setup) return std::move(setup.error());
  return BothEnds{{std::move(link->far_end), std::move(*file), std::move(*filter), std::move(*input),
                   std::move(output->write), std::move(errors->write), std::move(setup->write)},
                  std::move(link->link),
                  std::move(output->read),
                  std::move(errors->read),
                  std::move(setup->read)};
}

}  // namespace

base::Result<JailHandles> start_jail(const CommandOrder& order, const JailParts& parts, const JailSite& site,
                                     process::Spawner& spawner) {
  auto ends = make_ends(order, parts, site);
  if (!ends) return std::move(ends.error());
  auto child = process::Child::start(spawner, jail_command(parts, site, ends->theirs));
  if (!child) return std::move(child.error());
  return JailHandles{std::move(*child), std::move(ends->link), std::move(ends->output),
                     std::move(ends->errors), std::move(ends->setup_errors)};
}

}  // namespace millrace::machines
