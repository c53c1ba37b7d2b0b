#pragma once
#include <cstdint>
#include <string>

#include "storage/db/db.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// From this operation on, the database of its writer may grow by only `spare` pages, as on a full disk.
inline base::Status set_page_limit(Tx& tx, std::int64_t spare) {
  auto s = tx.db.prepare("PRAGMA page_count");
  s.step();
  const std::int64_t pages = s.integer(0);
  s.step();
  tx.db.script("PRAGMA max_page_count = " + std::to_string(pages + spare));
  return {};
}

}  // namespace millrace::storage
