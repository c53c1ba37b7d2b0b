#pragma once
#include <memory>
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

}  // namespace millrace::front
