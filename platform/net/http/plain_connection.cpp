#include "platform/net/http/plain_connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace millrace::net {

void PlainSockets::watch(int fd, PlainConnection& of, bool read, bool write) {
  const auto place = static_cast<std::size_t>(fd);
  if (place >= connections_.size()) connections_.resize(place + 1);
  connections_[place] = &of;
  ready_.watch(fd, read, write);
}

void PlainSockets::forget(int fd) {
  const auto place = static_cast<std::size_t>(fd);
  if (place < connections_.size()) connections_[place] = nullptr;
  ready_.forget(fd);
}

bool PlainSockets::on_ready(int fd, bool readable, bool writable) {
  const auto of = connections_[static_cast<std::size_t>(fd)]->shared_from_this();
  return of->ready(readable, writable);
}

namespace {

socklen_t length_of(const PeerAddress& address) {
  return address.any.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

int pending_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

iovec part_of(std::string_view bytes) { return {const_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

bool PlainConnection::connect(const PeerAddress& to, Receiver& receiver) {
  receiver_ = &receiver;
  fd_ = ::socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (fd_ < 0) return false;
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (::connect(fd_, &to.any, length_of(to)) != 0 && errno != EINPROGRESS) {
    const int failed = errno;
    close();
    errno = failed;
    return false;
  }
  connecting_ = wants_to_send_ = true;
  watch();
  return true;
}

bool PlainConnection::is_quiet() const {
  char any = 0;
  return ::recv(fd_, &any, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && is_for_later(errno);
}

std::size_t PlainConnection::send(std::string_view first, std::string_view second) {
  iovec parts[] = {part_of(first), part_of(second)};
  msghdr message{};
  message.msg_iov = first.empty() ? parts + 1 : parts;
  message.msg_iovlen = first.empty() || second.empty() ? 1 : 2;
  const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool all = sent >= 0 && static_cast<std::size_t>(sent) == first.size() + second.size();
  if (!all && (sent >= 0 || is_for_later(errno))) {
    wants_to_send_ = true;
    watch();
  } else if (!all) {
    ::shutdown(fd_, SHUT_RDWR);
  }
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void PlainConnection::listen(std::size_t at_once) {
  at_once_ = std::min(at_once, PlainSockets::kReadBytes);
  listens_ = true;
  watch();
}

void PlainConnection::hold() {
  listens_ = false;
  watch();
}

void PlainConnection::watch() {
  if (!is_open() || (watches_read_ == listens_ && watches_write_ == wants_to_send_)) return;
  watches_read_ = listens_;
  watches_write_ = wants_to_send_;
  sockets_.watch(fd_, *this, watches_read_, watches_write_);
}

bool PlainConnection::ready(bool readable, bool writable) {
  if (writable && wants_to_send_) write_on();
  const bool emptied = !readable || !listens_ || !is_open() || read_on();
  watch();
  return emptied;
}

void PlainConnection::write_on() {
  wants_to_send_ = false;
  if (receiver_ == nullptr) return;
  if (!std::exchange(connecting_, false)) return receiver_->can_send();
  receiver_->connected(pending_error(fd_));
}

// False: other connections get their turn first. Data that arrives after `hold` is delivered after the next
// `listen`.
bool PlainConnection::read_on() {
  for (int round = 0; round < kRoundsMax && is_open() && listens_; ++round) {
    const std::size_t most = at_once_;
    const ssize_t got = ::recv(fd_, sockets_.scratch().data(), most, MSG_DONTWAIT);
    if (got < 0 && is_for_later(errno)) return true;
    if (got <= 0) return deliver_end(got < 0 ? errno : 0), true;
    if (receiver_ == nullptr) return deliver_end(0), true;
    receiver_->received({sockets_.scratch().data(), static_cast<std::size_t>(got)});
    if (static_cast<std::size_t>(got) < most) return true;
  }
  return !is_open() || !listens_;
}

void PlainConnection::deliver_end(int error) {
  listens_ = false;
  if (receiver_ != nullptr) return receiver_->ended(error);
  close();
  if (on_idle_end) on_idle_end(*this);
}

void PlainConnection::close() {
  if (!is_open()) return;
  sockets_.forget(fd_);
  ::close(fd_);
  fd_ = -1;
}

PeerAddress PlainConnection::peer() const {
  PeerAddress address{};
  socklen_t size = sizeof address;
  ::getpeername(fd_, &address.any, &size);
  return address;
}

}  // namespace millrace::net
