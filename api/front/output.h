#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::front {

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
