#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::front {

class Connection;

// While it exists, it holds the complete replies that its thread sends. Its destructor sends them in order,
// one right after the other. So if a thread answers many requests of one client at once, the client wakes up
// once and not after each reply. Streams and replies of other threads are not held. At most one per thread;
// it is created and destroyed on that thread.
class Cork {
 public:
  Cork();
  ~Cork();
  Cork(const Cork&) = delete;
  Cork& operator=(const Cork&) = delete;

  // The cork of the calling thread, or nullptr.
  static Cork* current();
  // `connection` has output that this cork's destructor sends.
  void defer(std::shared_ptr<Connection> connection);

 private:
  std::vector<std::shared_ptr<Connection>> held_;
};

// The output buffer of a connection. If it is empty, bytes go directly to the kernel (one sendmsg, no copy).
// Bytes that the kernel does not accept are kept here. Not thread-safe: the connection's mutex guards it.
// Never blocks, never raises SIGPIPE.
class Output {
 public:
  enum class State {
    kEmpty,    // everything is in the kernel
    kBlocked,  // bytes are kept here until the socket is writable
    kBroken,   // the socket is closed
  };

  // A reply: `body` is moved, not copied, if it must be kept.
  State send(int fd, std::string head, std::string body);
  // A reply that `flush` sends.
  void defer(std::string head, std::string body);
  // Pieces of a stream: copied only if they must be kept.
  State send(int fd, std::span<const std::string_view> pieces);
  State flush(int fd);

  std::size_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  void clear();

 private:
  void keep(std::string block);
  void keep_copy(std::string_view piece);
  void drop_sent(std::size_t count);
  State state() const { return bytes_ == 0 ? State::kEmpty : State::kBlocked; }

  std::vector<std::string> blocks_;  // from first_ on, the first from offset_ on
  std::size_t first_ = 0;
  std::size_t offset_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace millrace::front
