#pragma once
#include <memory>
#include <string>

#include "storage/db/db.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

struct sqlite3;

namespace millrace::storage {

// Options for most tests: no disk minimum, short waits.
Store::Options test_options(const std::string& data_dir);
std::unique_ptr<Store> opened(Store::Options options, const base::Clock& clock);

// Submits an operation and waits for its completion.
base::Status write(Store& store, Writer::Operation operation,
                   Writer::Priority priority = Writer::Priority::kNormal);
// Increments access_version, a row that always exists.
base::Status bump(Tx& tx);
std::int64_t bumps(Store& store);

// The handle of SQLite, for a `db` that a Writer or Readers gave.
sqlite3* sqlite_handle(Db& db);

// Blocks the commit thread inside an operation until it is destroyed or `let_go` is called.
class HeldWriter {
 public:
  explicit HeldWriter(Store& store);
  ~HeldWriter() { let_go(); }
  void let_go();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace millrace::storage
