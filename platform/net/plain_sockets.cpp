#include "platform/net/plain_sockets.h"

#include "platform/net/plain_connection.h"

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

bool PlainSockets::tell(int fd, bool readable, bool writable) {
  const auto of = connections_[static_cast<std::size_t>(fd)]->shared_from_this();
  return of->ready(readable, writable);
}

}  // namespace millrace::net
