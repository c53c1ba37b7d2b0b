#include "storage/worker_drains.h"

#include <utility>

#include "storage/sqlite.h"
#include "storage/writer.h"

namespace millrace::storage {
namespace {

base::Result<bool> drain_in(Tx& tx, const std::string& worker) {
  auto s = tx.db.prepare("UPDATE workers SET draining = 1 WHERE name = ?1");
  s.bind(worker).run();
  if (s.changes() == 0) return base::error(base::Code::kNotFound, "There is no such worker");
  return true;
}

}  // namespace

void WorkerDrains::drain(std::string worker, Done<bool> done) {
  const std::size_t bytes = worker.size();
  submit_move<bool>(
      store_.writer(), Writer::Priority::kAsked, bytes,
      [worker = std::move(worker)](Tx& tx) { return drain_in(tx, worker); }, std::move(done));
}

}  // namespace millrace::storage
