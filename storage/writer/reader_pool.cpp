#include "storage/writer/reader_pool.h"

#include <chrono>
#include <utility>

#include "storage/db/errors.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kAcquireTimeout{1};
constexpr std::chrono::seconds kReadMax{1};
constexpr std::chrono::seconds kReadAgain{1};
// One read transaction with a time limit. Its destructor always ends it.
class ReadTransaction {
 public:
  explicit ReadTransaction(Db& db) : db_(db) { db_.begin_read(steady_clock::now() + kReadMax); }
  ~ReadTransaction() { db_.end_read(); }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Db& db_;
};

}  // namespace

// A connection borrowed for one read; null if none became free.
class ReaderPool::BorrowedConnection {
 public:
  explicit BorrowedConnection(ReaderPool& pool) : pool_(pool), db_(pool.acquire()) {}
  ~BorrowedConnection() {
    if (db_ != nullptr) pool_.release(db_);
  }
  BorrowedConnection(const BorrowedConnection&) = delete;
  BorrowedConnection& operator=(const BorrowedConnection&) = delete;
  Db* db() const { return db_; }

 private:
  ReaderPool& pool_;
  Db* const db_;
};

ReaderPool::ReaderPool(std::vector<std::unique_ptr<Db>> connections) : all_(std::move(connections)) {
  for (const std::unique_ptr<Db>& each : all_) free_.push_back(each.get());
}

base::Status ReaderPool::read(const std::function<void(Db&)>& f) {
  BorrowedConnection lease(*this);
  if (lease.db() == nullptr) return overloaded("the store's readers are all busy", kReadAgain);
  try {
    ReadTransaction transaction(*lease.db());
    f(*lease.db());
    return {};
  } catch (const DbError& e) {
    return store_error(e);
  }
}

Db* ReaderPool::acquire() {
  std::unique_lock lock(mutex_);
  returned_.wait_for(lock, kAcquireTimeout, [this] { return closed_ || !free_.empty(); });
  if (closed_ || free_.empty()) return nullptr;
  Db* db = free_.back();
  free_.pop_back();
  return db;
}

void ReaderPool::release(Db* db) {
  std::lock_guard lock(mutex_);
  free_.push_back(db);
  returned_.notify_all();
}

void ReaderPool::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  returned_.notify_all();
  returned_.wait(lock, [this] { return free_.size() == all_.size(); });
  free_.clear();
  all_.clear();
}

}  // namespace millrace::storage
