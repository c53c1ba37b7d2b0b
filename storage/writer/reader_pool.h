#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/db/db.h"
#include "storage/writer/readers.h"

namespace millrace::storage {

// Readers over a fixed number of connections. A read that takes longer than a second is interrupted
// (kOverloaded), because it keeps the write-ahead log from being restarted.
class ReaderPool final : public Readers {
 public:
  explicit ReaderPool(std::vector<std::unique_ptr<Db>> connections);
  base::Status read(const std::function<void(Db&)>& f) override;
  // Waits for running reads; later ones are refused.
  void close();

 private:
  class BorrowedConnection;
  Db* acquire();
  void release(Db* db);

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Db>> all_;
  std::vector<Db*> free_;
  bool closed_ = false;
};

}  // namespace millrace::storage
