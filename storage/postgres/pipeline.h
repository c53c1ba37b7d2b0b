#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "storage/postgres/result.h"
#include "storage/postgres/values.h"

namespace millrace::storage {

// Statements that are sent together and cost one round trip. If one fails, those behind it are not done.
class PostgresPipeline {
 public:
  using Answer = std::function<void(PostgresResult)>;
  explicit PostgresPipeline(pg_conn* connection);
  PostgresPipeline(const PostgresPipeline&) = delete;
  PostgresPipeline& operator=(const PostgresPipeline&) = delete;

  void prepare(const std::string& name, const std::string& sql, std::span<const unsigned> types);
  void run(const std::string& name, std::span<const PostgresValue> values, Answer answer);
  // Waits for all answers. Throws the first error, of a statement or of its `answer`. Call it once.
  void finish();

 private:
  void expect(bool is_sent, Answer answer);

  pg_conn* connection_;
  std::vector<Answer> answers_;
  bool is_complete_ = true;  // everything could be sent
};

// What libpq needs for the values of a statement. Points into them.
struct PostgresParameters {
  explicit PostgresParameters(std::span<const PostgresValue> values);
  std::vector<const char*> bytes;
  std::vector<int> lengths, formats;
  int count() const { return static_cast<int>(bytes.size()); }
};

}  // namespace millrace::storage
