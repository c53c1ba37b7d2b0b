#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::front {

class Connection;

// While it lives, whole replies that its thread sends wait in it; when it ends they leave one right after the
// other, in their order. A thread that answers many requests at once thereby wakes a client that shares its
// connections among them once, and not between any two replies. Streams and replies of other threads are not
// held. One at a time per thread; it is made and destroyed on that thread.
class Cork {
 public:
  Cork();
  ~Cork();
  Cork(const Cork&) = delete;
  Cork& operator=(const Cork&) = delete;

  // The calling thread's, or nullptr.
  static Cork* current();
  // `connection` has output that waits for the end of this cork.
  void hold(std::shared_ptr<Connection> connection);

 private:
  std::vector<std::shared_ptr<Connection>> held_;
};

// What a connection still has to send. Bytes go to the kernel at once if nothing waits (one sendmsg, no
// copy); what it does not take is kept here. Not thread-safe: its connection's mutex guards it. Never blocks,
// never raises SIGPIPE.
class Output {
 public:
  enum class State {
    kEmpty,    // everything is in the kernel
    kBlocked,  // bytes wait here until the socket is writable
    kBroken,   // the socket is gone
  };

  // A reply: `body` is moved, not copied, if it has to wait.
  State send(int fd, std::string head, std::string body);
  // A reply that `flush` sends.
  void hold(std::string head, std::string body);
  // Pieces of a stream: copied only if they have to wait.
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
