#include "ai/engines/protocol/frames.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "platform/process/child.h"

namespace millrace::engines {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kHeaderBytes = 4;

void attach(msghdr& message, char* control, std::size_t control_bytes, const int& fd) {
  message.msg_control = control;
  message.msg_controllen = control_bytes;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

base::Fd received_fd(msghdr& message) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return base::Fd(fd);
}

// False: no space until then.
bool wait_for_space(int socket, Steady::time_point until) {
  pollfd writable{socket, POLLOUT, 0};
  for (;;) {
    const int ready = ::poll(&writable, 1, process::poll_limit(until));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (Steady::now() >= until) return false;
  }
}

}  // namespace

bool send_frame(int socket, std::string_view payload, int fd, Steady::time_point until) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  char header[kHeaderBytes];
  for (unsigned i = 0; i < kHeaderBytes; ++i) header[i] = static_cast<char>(length >> (8 * i));
  iovec parts[2]{{header, sizeof header}, {const_cast<char*>(payload.data()), payload.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)]{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (fd >= 0) attach(message, control, sizeof control, fd);
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      if (!wait_for_space(socket, until)) return false;
      continue;
    }
    if (sent <= 0) return false;
    auto left = static_cast<std::size_t>(sent);
    for (iovec& part : parts) {
      const std::size_t gone = std::min(left, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + gone;
      part.iov_len -= gone;
      left -= gone;
    }
    message.msg_control = nullptr;
    message.msg_controllen = 0;
  }
  return true;
}

FrameReader::State FrameReader::read_some(int socket) {
  constexpr std::size_t kPiece = 65536;
  if (taken_ > 0) buffer_.erase(0, std::exchange(taken_, 0));
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kPiece);
  iovec part{buffer_.data() + size, kPiece};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen =
      CMSG_LEN(sizeof(int));  // space for one descriptor; a second one would have no owner
  const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  const bool again = count < 0 && (errno == EINTR || errno == EAGAIN);
  buffer_.resize(size + (count > 0 ? static_cast<std::size_t>(count) : 0));
  if (count <= 0) return again ? State::kOpen : State::kClosed;
  if (base::Fd fd = received_fd(message)) fd_ = std::move(fd);
  const auto length = frame_length();
  return length && *length > kFrameBytesMax ? State::kClosed : State::kOpen;
}

std::optional<std::size_t> FrameReader::frame_length() const {
  if (buffer_.size() - taken_ < kHeaderBytes) return std::nullopt;
  std::size_t length = 0;
  for (unsigned i = 0; i < kHeaderBytes; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(buffer_[taken_ + i])) << (8 * i);
  }
  return length;
}

std::optional<std::string> FrameReader::next() {
  const auto length = frame_length();
  if (!length || *length > kFrameBytesMax || buffer_.size() - taken_ - kHeaderBytes < *length)
    return std::nullopt;
  std::string frame = buffer_.substr(taken_ + kHeaderBytes, *length);
  taken_ += kHeaderBytes + *length;
  return frame;
}

}  // namespace millrace::engines
