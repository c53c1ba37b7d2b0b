#pragma once
#include <memory>
#include <string>

#include "storage/store.h"
#include "storage/writer.h"

namespace millrace::storage {

// What most tests want: no disk minimum, short waits.
Store::Options test_options(const std::string& data_dir);
std::unique_ptr<Store> opened(Store::Options options, const base::Clock& clock);

// Submits and waits for the answer.
base::Status write(Store& store, Writer::Operation operation,
                   Writer::Priority priority = Writer::Priority::kNormal);
// Raises access_version, a row that is always there.
base::Status bump(Tx& tx);
std::int64_t bumps(Store& store);

// Keeps the commit thread inside an operation until it is destroyed or told to go.
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
