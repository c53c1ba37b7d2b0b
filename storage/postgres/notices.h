#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "platform/base/fd.h"

struct pg_conn;

namespace millrace::storage {

// Short texts between the processes that share a schema, by LISTEN and NOTIFY on a connection of its own. All
// connected processes get a text, also the sender; nobody gets it later. Texts may be lost when a connection
// is. All calls but `wake` on one thread. They throw DbError; then only `connect` may be called.
class PostgresNotices {
 public:
  struct Notice {
    std::string text;
    bool is_own = false;  // sent by this object
  };
  static constexpr std::size_t kTextBytesMax = 7'999;  // of PostgreSQL

  explicit PostgresNotices(std::string url);
  ~PostgresNotices();
  PostgresNotices(const PostgresNotices&) = delete;
  PostgresNotices& operator=(const PostgresNotices&) = delete;

  // Connects and listens. Blocks for some seconds at most.
  void connect();
  // Begins to send. REQUIRES: connected; no other text is being sent; UTF-8 without NUL, at most
  // kTextBytesMax.
  void send(const std::string& text);
  bool is_sending() const { return is_sending_; }
  // Waits for texts, for the end of `send` or for `wake`, at most as long as `wait`. Returns the texts.
  std::vector<Notice> receive(std::chrono::milliseconds wait);
  void wake();  // any thread

 private:
  [[noreturn]] void throw_lost();

  const std::string url_;
  const base::Fd wake_;
  pg_conn* connection_ = nullptr;
  std::string channel_;
  bool is_sending_ = false;
};

}  // namespace millrace::storage
