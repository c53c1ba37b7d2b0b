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

// Shared by the connections of a loop: the set of their sockets and a read buffer. So an idle connection
// needs no buffer. Call only while the run lock is held; for the sources of this module.
class PlainSockets {
 public:
  static constexpr std::size_t kReadBytes = 32u << 10;  // per read

  explicit PlainSockets(Loop::Impl& impl)
      : ready_(impl,
               [this](int fd, bool readable, bool writable) { return on_ready(fd, readable, writable); }) {}

  // As SocketSet::watch. `of` gets the events until `forget`, or until both are false.
  void watch(int fd, PlainConnection& of, bool read, bool write);
  void forget(int fd);  // call it before the socket is closed
  void close() { ready_.close(); }
  SocketSet& ready() { return ready_; }
  // Overwritten by the next read of any connection.
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

// One TCP connection. It does not read ahead: bytes are delivered as they arrive. It also watches the socket
// while it is idle, so the end of an idle connection is noticed. Call only while the run lock is held; for
// the sources of this module.
class PlainConnection : public std::enable_shared_from_this<PlainConnection> {
 public:
  // The current user of the connection. None of these functions is called from inside a call that the
  // receiver makes.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void connected(int error) = 0;  // an errno; 0: success
    virtual void can_send() = 0;
    virtual void received(std::string_view bytes) = 0;
    virtual void ended(int error) = 0;  // 0: the peer sends no more
  };
  explicit PlainConnection(PlainSockets& sockets) : sockets_(sockets) {}
  ~PlainConnection() { close(); }
  PlainConnection(const PlainConnection&) = delete;
  PlainConnection& operator=(const PlainConnection&) = delete;

  // False: no socket, or the address cannot be reached; see errno.
  bool connect(const PeerAddress& to, Receiver& receiver);
  // Returns the number of bytes sent from both parts. 0: nothing can be sent now; `can_send` is called later.
  // A connection that can no longer send reports that through `ended`.
  std::size_t send(std::string_view first, std::string_view second);
  void set_receiver(Receiver* receiver) {
    receiver_ = receiver;
  }  // null: it is idle; any further event closes it
  // Delivers bytes, at most `at_once` per call, until `hold`.
  void listen(std::size_t at_once);
  void hold();
  void close();
  bool is_quiet() const;  // no bytes and no end of the connection are pending
  bool is_open() const { return fd_ >= 0; }
  PeerAddress peer() const;

  // Called by PlainSockets when the socket is readable, writable or both. False: more may be readable
  // immediately.
  bool ready(bool readable, bool writable);

  // Used by the pool: the origin of the connection, and the time since when it is idle.
  std::string origin;
  std::chrono::steady_clock::time_point idle_since;
  std::function<void(PlainConnection&)> on_idle_end;

 private:
  static constexpr int kRoundsMax = 16;  // reads in a row before other connections get their turn

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
