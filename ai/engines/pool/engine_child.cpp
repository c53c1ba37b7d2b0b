#include "ai/engines/pool/engine_child.h"

#include <algorithm>
#include <csignal>

#include <poll.h>
#include <sys/socket.h>

#include "platform/process/child.h"
#include "platform/process/memory_file.h"

namespace millrace::engines {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr int kSocketFd = 3;
// From the end of the socket to that of the child's wrapper processes, in SCHED_IDLE on a busy host.
constexpr milliseconds kEndGrace{20'000};

}  // namespace

base::Result<EngineChild> EngineChild::start(process::Spawner& spawner, const process::Jail& jail,
                                             const EnginePool::Options& options) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::error(base::Code::kOverloaded,
                       "no file descriptor is left for an engine: raise `ulimit -n`");
  }
  base::Fd ours(ends[0]);
  const base::Fd theirs(ends[1]);
  auto wrapped =
      jail.wrap({.argv = {options.engine_path, "--serve", "--socket-fd", std::to_string(kSocketFd),
                          "--languages", options.languages},
                 .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=/tmp", "OMP_THREAD_LIMIT=1"},
                 .fds = {{kSocketFd, theirs.get()}},
                 .idle = options.in_background});
  if (!wrapped) return std::move(wrapped.error());
  auto child = process::Child::start(spawner, wrapped->command);
  if (!child) return std::move(child.error());
  EngineChild engine(std::move(*child), std::move(ours), options.limits.request_wall,
                     jail.confinement() == process::Confinement::kNamespaces);
  Request first;
  first.kind = Request::Kind::kLimits;
  first.limits = options.limits;
  if (!engine.send(first))
    return base::error(base::Code::kInternal, "the engine ended while it was starting");
  return engine;
}

bool EngineChild::open(const std::shared_ptr<const void>& input, const Request& opening, int fd) {
  if (opened_.lock() == input) return true;
  // Through a descriptor of a stored file, a compromised child could reopen the file for writing.
  const auto copy = process::memory_copy(fd, opening.size_bytes);
  if (!copy) {
    host_error_ = copy.error();
    if (host_error_->code != base::Code::kOverloaded)
      host_error_->message.insert(0, "the input cannot be read: ");
    return false;
  }
  opened_ = input;
  return send(opening, copy->get());
}

bool EngineChild::open_model(const LoadableModelPtr& model) {
  if (model_ == model) return true;
  copies_.reset();
  model_.reset();
  if (has_tmp_) {
    auto copies = model->copies();
    if (!copies) {
      host_error_ = std::move(copies.error());
      return false;
    }
    copies_ = *std::move(copies);
  } else if (auto good = model->check_contents(); !good) {
    host_error_ = std::move(good.error());
    return false;
  }
  model_ = model;
  Request request;
  request.kind = Request::Kind::kOpenModel;
  request.layout = model->layout();
  if (!send(request)) return false;
  request.kind = Request::Kind::kModelFile;
  request.file_is_sent = copies_ != nullptr;
  for (std::size_t at = 0; at < model->files().size(); ++at) {
    request.role = model->files()[at].role;
    request.path = model->files()[at].path;
    if (!send(request, copies_ ? (*copies_)[at].get() : -1)) return false;
  }
  return true;
}

bool EngineChild::send(const Request& request, int fd) {
  return send_frame(socket_.get(), encode(request), fd, Steady::now() + request_wall_);
}

// True: the outcome is in `got`.
bool EngineChild::take_frame(Event& event, ReadResult& got) {
  const auto frame = frames_.next();
  if (!frame) return false;
  auto decoded = decode_event(*frame);
  got = decoded ? ReadResult::kEvent : ReadResult::kGone;
  if (decoded) event = std::move(*decoded);
  return true;
}

EngineChild::ReadResult EngineChild::next(Event& event, milliseconds wall, int interrupt_fd) {
  const auto deadline = Steady::now() + wall;
  ReadResult got = ReadResult::kGone;
  while (Steady::now() < deadline) {
    if (take_frame(event, got)) return got;
    pollfd fds[2]{{socket_.get(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    if (::poll(fds, 2, process::poll_limit(deadline)) <= 0) continue;
    if (fds[1].revents != 0) return ReadResult::kInterrupted;
    if (fds[0].revents != 0 && frames_.read_some(socket_.get()) == FrameReader::State::kClosed)
      return ReadResult::kGone;
  }
  return ReadResult::kTimeout;
}

// bwrap reports a signal by its exit code, as a shell does.
bool EngineChild::hit_cpu_bound() {
  const auto exit = child_.wait(kEndGrace);
  return exit && (exit->signal == SIGXCPU || exit->code == 128 + SIGXCPU);
}

}  // namespace millrace::engines
