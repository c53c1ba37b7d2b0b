#pragma once
#include <array>
#include <cstddef>
#include <memory>

#include <pistache/transport.h>

#include "api/front/server.h"

// Pistache's side of the sockets, for the listener's source only.
namespace millrace::front {

// What the one front thread waits for beside its clients.
class Watched {
 public:
  explicit Watched(Server::Options::Beside what) : what_(std::move(what)) {}

  void begin(Pistache::Tcp::Transport& transport);  // on the front thread, whose transport it is
  void end();                                       // when that thread has ended
  bool is(const Pistache::Aio::FdSet::Entry& entry) const;
  void ready() const { what_.ready(); }

 private:
  const Server::Options::Beside what_;
  bool begun_ = false;
  int fd_ = -1;
};

// Pistache's own, which would end the process at an event that is not of its clients. (Its reactor knows of
// several handlers, but loses the number of one where it encodes an event.) It also reads what clients send
// itself: Pistache's asks every socket once more, which has been emptied already; how a client ends is
// Pistache's again.
class Transport final : public Pistache::Tcp::Transport {
 public:
  Transport(const std::shared_ptr<Pistache::Tcp::Handler>& handler, std::shared_ptr<Watched> watched)
      : Pistache::Tcp::Transport(handler), handler_(handler), watched_(std::move(watched)) {}

  std::shared_ptr<Pistache::Aio::Handler> clone() const override;
  void onReady(const Pistache::Aio::FdSet& fds) override;

 private:
  static constexpr std::size_t kReadBytes = 16u << 10;  // at a time

  bool read(const Pistache::Aio::FdSet::Entry& entry);

  const std::shared_ptr<Pistache::Tcp::Handler> handler_;
  const std::shared_ptr<Watched> watched_;
  std::array<char, kReadBytes> buffer_;
};

}  // namespace millrace::front
