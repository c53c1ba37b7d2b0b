#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "schemas/batches/batch.h"
#include "storage/db/db.h"

// Inside storage: the rows of batches.
namespace millrace::storage {

struct BatchRow {
  schemas::Batch batch;
  std::string tenant, key_id;
  std::optional<std::int64_t> input;  // blobs.id
  std::optional<base::Uuid> driver;
  std::int64_t reserved = 0;
};
std::optional<BatchRow> find_batch(Db& db, const base::Uuid& id);
// Deletes at most `limit` lines; returns how many.
int delete_lines(Db& db, const base::Uuid& batch, int limit);

}  // namespace millrace::storage
