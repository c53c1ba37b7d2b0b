#include "tests/unit/front/raw_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::front::test {
namespace {

using Clock = std::chrono::steady_clock;

bool wait_for(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd item{fd, events, 0};
    const int ready = ::poll(&item, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

sockaddr_in address_v4(const char* host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

int connect_v4(const char* host, std::uint16_t port, int receive_buffer, const char* from) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  if (from != nullptr) {
    const sockaddr_in own = address_v4(from, 0);
    ::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own);
  }
  const sockaddr_in address = address_v4(host, port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

int connect_v6(const char* host, std::uint16_t port) {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  ::inet_pton(AF_INET6, host, &address.sin6_addr);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

RawClient::RawClient(std::uint16_t port, int receive_buffer, const char* host, const char* from)
    : fd_(std::strchr(host, ':') ? connect_v6(host, port) : connect_v4(host, port, receive_buffer, from)) {}

RawClient::~RawClient() { close(); }

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      ended_(other.ended_),
      reset_(other.reset_),
      in_(std::move(other.in_)) {}

std::size_t RawClient::send_some(std::string_view bytes) {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

bool RawClient::send(std::string_view bytes, std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (!bytes.empty() && !wait_for(fd_, POLLOUT, end)) return false;
  }
  return true;
}

bool RawClient::fill(Deadline deadline) {
  std::array<char, 64 * 1024> buffer;
  if (ended_ || fd_ < 0 || !wait_for(fd_, POLLIN, deadline)) return false;
  const ssize_t count = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count > 0) {
    in_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  ended_ = true;
  reset_ = count < 0;
  return false;
}

bool RawClient::fill_to(std::size_t count, Deadline deadline) {
  while (in_.size() < count) {
    if (!fill(deadline)) return false;
  }
  return true;
}

std::optional<std::string> RawClient::line(Deadline deadline) {
  std::size_t end = 0;
  while ((end = in_.find("\r\n")) == std::string::npos) {
    if (!fill(deadline)) return std::nullopt;
  }
  std::string text = in_.substr(0, end);
  in_.erase(0, end + 2);
  return text;
}

std::optional<RawReply> RawClient::reply(bool head_only, std::chrono::milliseconds deadline) {
  const Deadline end = Clock::now() + deadline;
  RawReply reply;
  const auto status_line = line(end);
  if (!status_line || status_line->size() < 12 || !status_line->starts_with("HTTP/1.1 ")) return std::nullopt;
  reply.status = std::stoi(status_line->substr(9, 3));
  for (;;) {
    const auto header = line(end);
    if (!header) return std::nullopt;
    if (header->empty()) break;
    const std::size_t colon = header->find(": ");
    if (colon == std::string::npos) return std::nullopt;
    reply.headers.emplace(lower(header->substr(0, colon)), header->substr(colon + 2));
  }
  if (!head_only) read_body(reply, end);
  return reply;
}

void RawClient::read_body(RawReply& reply, Deadline deadline) {
  if (reply.status < 200 || reply.status == 204 || reply.status == 304) return;
  if (const auto length = reply.headers.find("content-length"); length != reply.headers.end()) {
    const std::size_t size = std::stoul(length->second);
    reply.complete = fill_to(size, deadline);
    reply.body = in_.substr(0, size);
    in_.erase(0, std::min(size, in_.size()));
    return;
  }
  if (reply.has("transfer-encoding")) {
    bool last = false;
    while (reply.complete && !last) reply.complete = read_chunk(reply.body, deadline, last);
    return;
  }
  while (fill(deadline)) {
  }
  reply.complete = ended_ && !reset_;
  reply.body = std::exchange(in_, {});
}

bool RawClient::read_chunk(std::string& body, Deadline deadline, bool& last) {
  const auto size_line = line(deadline);
  if (!size_line || size_line->empty()) return false;
  const std::size_t size = std::stoul(*size_line, nullptr, 16);
  if (!fill_to(size + 2, deadline)) return false;
  body.append(in_, 0, size);
  in_.erase(0, size + 2);
  last = size == 0;
  return true;
}

std::string RawClient::bytes(std::size_t count, std::chrono::milliseconds deadline) {
  fill_to(count, Clock::now() + deadline);
  std::string text = in_.substr(0, count);
  in_.erase(0, text.size());
  return text;
}

std::optional<std::string> RawClient::until_end(std::chrono::milliseconds deadline) {
  const Deadline end = Clock::now() + deadline;
  while (fill(end)) {
  }
  if (!ended_) return std::nullopt;
  return std::exchange(in_, {});
}

void RawClient::half_close() { ::shutdown(fd_, SHUT_WR); }

void RawClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RawClient::reset() {
  const linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

}  // namespace millrace::front::test
