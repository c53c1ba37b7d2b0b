#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/postgres/database.h"
#include "storage/postgres/read_cache.h"
#include "storage/postgres/write_queue.h"

namespace millrace::storage {

// A statement of a PostgresDb. In a writing transaction, a write that is not asked for its changes waits in
// the connection's queue; a read by key may be answered from memory.
class PostgresStatement final : public PreparedStatement {
 public:
  PostgresStatement(PostgresDb& db, std::shared_ptr<PostgresText> text)
      : db_(db), text_(std::move(text)), values_(text_->form.parameters) {}

  void bind(int parameter, std::int64_t value) override;
  void bind(int parameter, double value) override;
  void bind(int parameter, std::nullptr_t) override { set(parameter, {}); }
  void bind(int parameter, std::string_view text) override;
  void bind(int parameter, const BlobView& view) override;
  bool step() override;
  int changes() override;
  void expect_one_change(std::string_view move) override;
  std::int64_t integer(int column) const override;
  double real(int column) const override;
  std::string_view bytes(int column) const override;
  bool is_null(int column) const override;
  void reset() noexcept override;

 private:
  void set(int parameter, PostgresValue value);
  void run();
  void run_now();

  PostgresDb& db_;
  const std::shared_ptr<PostgresText> text_;
  std::vector<PostgresValue> values_;  // NULL until it is bound
  KeyedRows rows_;
  int row_ = -1;
  int changes_ = 0;
  std::size_t queued_ = 0;  // WriteQueue::added after the write; 0: it is not in the queue
  bool is_run_ = false;
};

}  // namespace millrace::storage
