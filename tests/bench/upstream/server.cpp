#include "tests/bench/upstream/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tests/bench/upstream/messages.h"

namespace millrace::bench {
namespace {

constexpr std::chrono::seconds kNothingDue{3600};

}  // namespace

std::string UpstreamServer::whole() { return whole_reply(); }

base::Status UpstreamServer::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error("epoll_ctl");
  return {};
}

base::Error UpstreamServer::serve() {
  epoll_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.fd() < 0) return system_error("epoll");
  const int listener = listening_.socket.fd();
  if (const auto good = watch(listener); !good) return good.error();
  std::array<epoll_event, 256> events{};
  while (true) {
    const timespec timeout = until_due();
    const int count =
        ::epoll_pwait2(epoll_.fd(), events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    if (count < 0 && errno != EINTR) return system_error("epoll_wait");
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      fd == listener ? accept_one() : read(fd);
    }
    write_due();
  }
}

timespec UpstreamServer::until_due() const {
  Clock::duration left = kNothingDue;
  if (!due_.empty()) left = std::max(due_.front().when - Clock::now(), Clock::duration(0));
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  return {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
}

// The listener is blocking, so accept one connection per readiness event.
void UpstreamServer::accept_one() {
  Socket made(::accept4(listening_.socket.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (made.fd() < 0) return;
  const int on = 1;
  ::setsockopt(made.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int fd = made.fd();
  if (!watch(fd)) return;
  clients_[fd] = Client{.socket = std::move(made), .input = {}, .id = ++ids_};
}

void UpstreamServer::read(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  Client& client = found->second;
  std::array<char, 16 * 1024> piece;
  const ssize_t count = ::recv(fd, piece.data(), piece.size(), 0);
  if (count < 0 && errno == EAGAIN) return;
  bool good = count > 0;
  if (good) client.input.append(piece.data(), static_cast<std::size_t>(count));
  while (good) {
    const auto request = read_request(client.input);
    if (!request) return;
    client.input.erase(0, request->size);
    good = answer(client, request->stream);
  }
  clients_.erase(found);
}

bool UpstreamServer::answer(Client& client, bool stream) {
  if (stream) return begin_stream(client);
  return manner_.delay.count() > 0 ? answer_later(client) : write(client, whole_);
}

bool UpstreamServer::answer_later(const Client& client) {
  due_.push_back({Clock::now() + manner_.delay, client.socket.fd(), client.id});
  return true;
}

bool UpstreamServer::begin_stream(Client& client) {
  client.next_frame = 1;
  if (!write(client, stream_begin({0, Clock::now()}))) return false;
  if (manner_.frames == 0) return true;
  if (manner_.rate > 0) {
    due_.push_back({Clock::now() + interval(), client.socket.fd(), client.id});
    return true;
  }
  while (client.next_frame < manner_.frames) {
    if (!write_frame(client)) return false;
  }
  return write(client, stream_end());
}

bool UpstreamServer::write(const Client& client, std::string_view bytes) {
  const ssize_t count = ::send(client.socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return count == static_cast<ssize_t>(bytes.size());
}

bool UpstreamServer::write_frame(Client& client) {
  return write(client, stream_frame({client.next_frame++, Clock::now()}));
}

void UpstreamServer::write_due() {
  while (!due_.empty() && due_.front().when <= Clock::now()) {
    const Due due = due_.front();
    due_.pop_front();
    const auto found = clients_.find(due.fd);
    if (found == clients_.end() || found->second.id != due.client) continue;
    Client& client = found->second;
    const bool is_good = manner_.delay.count() > 0 ? write(client, whole_) : continue_stream(due, client);
    if (!is_good) clients_.erase(found);
  }
}

bool UpstreamServer::continue_stream(const Due& due, Client& client) {
  if (client.next_frame >= manner_.frames) return write(client, stream_end());
  if (!write_frame(client)) return false;
  due_.push_back({due.when + interval(), due.fd, due.client});
  return true;
}

}  // namespace millrace::bench
