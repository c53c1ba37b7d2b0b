#include "tests/bench/load/client.h"

#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <random>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/load/reply_reader.h"
#include "tests/bench/load/request_text.h"
#include "tests/bench/measure/socket.h"

namespace millrace::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
  Connection(Socket made, const Load& load, std::uint64_t seed)
      : socket(std::move(made)), request(load, seed) {}
  Socket socket;
  RequestText request;
  ReplyReader reply;
  std::size_t sent = 0;
  bool busy = false;
  bool waits_for_write = false;  // registered for EPOLLOUT
  Clock::time_point began;       // of the current request
};

class Run {
 public:
  explicit Run(const Load& load) : load_(load) {}
  base::Status open();
  base::Result<LoadResult> go();

 private:
  base::Status start_due(Clock::time_point now);
  base::Status begin(Connection& connection, Clock::time_point due);
  base::Status send(Connection& connection);
  base::Status receive(Connection& connection);
  base::Status finish(Connection& connection);
  base::Status wait(Clock::time_point now);
  base::Status watch(Connection& connection, int operation, bool for_write);
  bool over(Clock::time_point now) const;
  Clock::duration interval() const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / load_.rate));
  }

  const Load& load_;
  Socket epoll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;  // used in open loop
  std::deque<Clock::time_point> late_;
  Clock::time_point next_due_, measure_from_, measure_to_;
  std::array<char, 64 * 1024> input_{};
  LoadResult result_;
};

base::Status Run::open() {
  epoll_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.fd() < 0) return system_error("epoll");
  std::random_device seeds;
  for (int i = 0; i < load_.connections; ++i) {
    auto made = connect_loopback(load_.port);
    if (!made) return made.error();
    ::fcntl(made->fd(), F_SETFL, O_NONBLOCK);
    const std::uint64_t seed = (std::uint64_t{seeds()} << 32) | seeds();
    connections_.push_back(std::make_unique<Connection>(std::move(*made), load_, seed));
    if (auto good = watch(*connections_.back(), EPOLL_CTL_ADD, false); !good) return good;
  }
  return {};
}

base::Status Run::watch(Connection& connection, int operation, bool for_write) {
  epoll_event event{};
  event.events = EPOLLIN | (for_write ? EPOLLOUT : 0u);
  event.data.ptr = &connection;
  if (::epoll_ctl(epoll_.fd(), operation, connection.socket.fd(), &event) != 0)
    return system_error("epoll_ctl");
  connection.waits_for_write = for_write;
  return {};
}

base::Status Run::begin(Connection& connection, Clock::time_point due) {
  connection.request.next();
  connection.reply.clear();
  connection.sent = 0;
  connection.busy = true;
  connection.began = due;
  return send(connection);
}

base::Status Run::send(Connection& connection) {
  while (connection.sent < connection.request.size()) {
    auto parts = connection.request.rest(connection.sent);
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t count = ::sendmsg(connection.socket.fd(), &message, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) return system_error("send");
    if (count < 0)
      return connection.waits_for_write ? base::Status() : watch(connection, EPOLL_CTL_MOD, true);
    connection.sent += static_cast<std::size_t>(count);
  }
  return connection.waits_for_write ? watch(connection, EPOLL_CTL_MOD, false) : base::Status();
}

base::Status Run::receive(Connection& connection) {
  const ssize_t count = ::recv(connection.socket.fd(), input_.data(), input_.size(), 0);
  if (count < 0 && errno == EAGAIN) return {};
  if (count < 0) return system_error("recv");
  if (count == 0) return base::error(base::Code::kInternal, "the server closed a connection");
  switch (connection.reply.take({input_.data(), static_cast<std::size_t>(count)})) {
    case ReplyReader::State::kMore:
      return {};
    case ReplyReader::State::kBroken:
      return base::error(base::Code::kInternal, "a reply has no Content-Length");
    case ReplyReader::State::kDone:
      break;
  }
  return finish(connection);
}

base::Status Run::finish(Connection& connection) {
  const auto now = Clock::now();
  connection.busy = false;
  if (connection.reply.status() != load_.expected_status) {
    if (result_.wrong.empty()) result_.first_wrong_body = connection.reply.body();
    ++result_.wrong[connection.reply.status()];
  }
  if (now >= measure_from_ && now <= measure_to_) {
    ++result_.replies;
    result_.latency.add(now - connection.began);
  }
  if (over(now)) return {};
  if (load_.rate <= 0) return begin(connection, now);
  if (late_.empty()) {
    idle_.push_back(&connection);
    return {};
  }
  const auto due = late_.front();
  late_.pop_front();
  return begin(connection, due);
}

base::Status Run::start_due(Clock::time_point now) {
  for (; next_due_ <= now; next_due_ += interval()) {
    if (idle_.empty()) {
      late_.push_back(next_due_);
      continue;
    }
    Connection& connection = *idle_.back();
    idle_.pop_back();
    if (auto good = begin(connection, next_due_); !good) return good;
  }
  return {};
}

bool Run::over(Clock::time_point now) const {
  return load_.requests_max > 0 ? result_.replies >= load_.requests_max : now >= measure_to_;
}

base::Status Run::wait(Clock::time_point now) {
  auto until = load_.rate > 0 ? std::min(next_due_, measure_to_) : measure_to_;
  if (load_.requests_max > 0 && load_.rate <= 0) until = now + std::chrono::seconds(60);
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::max(until - now, Clock::duration(0)));
  const timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  std::array<epoll_event, 256> events{};
  const int count =
      ::epoll_pwait2(epoll_.fd(), events.data(), static_cast<int>(events.size()), &timeout, nullptr);
  if (count < 0 && errno != EINTR) return system_error("epoll_wait");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    Connection& connection = *static_cast<Connection*>(event.data.ptr);
    if ((event.events & EPOLLOUT) != 0) {
      if (auto good = send(connection); !good) return good;
    }
    if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) continue;
    if (auto good = receive(connection); !good) return good;
  }
  return {};
}

base::Result<LoadResult> Run::go() {
  const auto start = Clock::now();
  next_due_ = start;
  measure_from_ = start + std::chrono::duration_cast<Clock::duration>(load_.warmup);
  measure_to_ = load_.requests_max > 0
                    ? Clock::time_point::max()
                    : measure_from_ + std::chrono::duration_cast<Clock::duration>(load_.measured);
  for (const auto& connection : connections_) {
    idle_.push_back(connection.get());
    if (load_.rate > 0) continue;
    if (auto good = begin(*connection, Clock::now()); !good) return good.error();
  }
  auto now = Clock::now();
  for (; !over(now); now = Clock::now()) {
    if (load_.rate > 0) {
      if (auto good = start_due(now); !good) return good.error();
    }
    if (auto good = wait(now); !good) return good.error();
  }
  result_.seconds = std::chrono::duration<double>(now - measure_from_).count();
  return std::move(result_);
}

}  // namespace

base::Result<LoadResult> run(const Load& load) {
  Run run(load);
  if (auto good = run.open(); !good) return good.error();
  return run.go();
}

}  // namespace millrace::bench
