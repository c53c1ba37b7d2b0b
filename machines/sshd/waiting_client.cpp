#include "machines/sshd/waiting_client.h"

#include <array>
#include <cerrno>
#include <string_view>

#include <sys/socket.h>

namespace millrace::machines {

bool WaitingClient::read() {
  constexpr std::string_view kPrefix = "SSH-";
  std::array<char, kBytesMax> buffer;
  const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size() - received_.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) return false;
  received_.append(buffer.data(), static_cast<std::size_t>(count));
  if (std::string_view(received_).substr(0, kPrefix.size()) != kPrefix.substr(0, received_.size()))
    return false;
  is_ready_ = received_.find('\n') != std::string::npos;
  return is_ready_ || received_.size() < kBytesMax;
}

}  // namespace millrace::machines
