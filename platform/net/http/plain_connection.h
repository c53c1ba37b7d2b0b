#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <netinet/in.h>

#include "platform/net/socket_set.h"

namespace millrace::net {

class PlainConnection;

// What the connections of a loop share: who of them is ready, and what they read into. So one that waits
// costs no more than itself. In the loop's turn only; for this room's sources.
class PlainSockets {
 public:
  static constexpr std::size_t kReadBytes = 32u << 10;  // at a time

  explicit PlainSockets(Loop::Impl& impl)
      : ready_(impl,
               [this](int fd, bool readable, bool writable) { return on_ready(fd, readable, writable); }) {}

  // As SocketSet's; `of` is told, until `forget` or both are false.
  void watch(int fd, PlainConnection& of, bool read, bool write);
  void forget(int fd);  // before it is closed
  void close() { ready_.close(); }
  SocketSet& ready() { return ready_; }
  // Whoever reads next overwrites it.
  std::array<char, kReadBytes>& scratch() { return scratch_; }

 private:
  bool on_ready(int fd, bool readable, bool writable);

  SocketSet ready_;
  std::vector<PlainConnection*> connections_;  // by fd
  std::array<char, kReadBytes> scratch_;
};

// An address to connect to.
union PeerAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// One TCP connection. It reads ahead of nobody: what has arrived is told as it comes, whether somebody has it
// or it lies idle, which is how its end is noticed. In the loop's turn only; for this room's sources.
class PlainConnection : public std::enable_shared_from_this<PlainConnection> {
 public:
  // Who has the connection. None is told anything from within a call of theirs.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void connected(int error) = 0;  // errno; 0: well
    virtual void can_send() = 0;
    virtual void received(std::string_view bytes) = 0;
    virtual void ended(int error) = 0;  // 0: the other side sends no more
  };
  explicit PlainConnection(PlainSockets& sockets) : sockets_(sockets) {}
  ~PlainConnection() { close(); }
  PlainConnection(const PlainConnection&) = delete;
  PlainConnection& operator=(const PlainConnection&) = delete;

  // False: no socket, or an address that cannot be reached; errno says why.
  bool connect(const PeerAddress& to, Receiver& receiver);
  // Bytes taken of both; 0: none now, and the ear hears of room. A connection that cannot send any more says
  // so by its end.
  std::size_t send(std::string_view first, std::string_view second);
  void set_receiver(Receiver* receiver) {
    receiver_ = receiver;
  }  // null: it lies idle, and whatever comes then ends it
  // Bytes are told, at most `at_once` of them at a time, until `hold`.
  void listen(std::size_t at_once);
  void hold();
  void close();
  bool is_quiet() const;  // nothing has come, nor its end
  bool is_open() const { return fd_ >= 0; }
  PeerAddress peer() const;

  // Of PlainSockets: it can be read, written, or both. False: there may be more to read at once.
  bool ready(bool readable, bool writable);

  // Of the pool: whose it is, and since when.
  std::string origin;
  std::chrono::steady_clock::time_point idle_since;
  std::function<void(PlainConnection&)> on_idle_end;

 private:
  static constexpr int kRoundsMax = 16;  // of reading, before others have their turn

  void watch();
  void write_on();
  bool read_on();
  void deliver_end(int error);

  PlainSockets& sockets_;
  Receiver* receiver_ = nullptr;
  std::size_t at_once_ = PlainSockets::kReadBytes;
  int fd_ = -1;
  bool connecting_ = false, wants_to_send_ = false, listens_ = false;
  bool watches_read_ = false, watches_write_ = false;
};

}  // namespace millrace::net
