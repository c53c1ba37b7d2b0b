#include "tests/unit/storage/opened_store.h"

#include <future>
#include <stdexcept>

#include "storage/sqlite/database.h"
#include "storage/writer/readers.h"

namespace millrace::storage {

Store::Options test_options(const std::string& data_dir) {
  Store::Options options;
  options.data_dir = data_dir;
  options.checkpoint_interval = std::chrono::milliseconds(5);
  options.stuck_lock_after = std::chrono::milliseconds(200);
  options.disk_free_min_bytes = 0;
  return options;
}

std::unique_ptr<Store> opened(Store::Options options, const base::Clock& clock) {
  auto store = Store::open(std::move(options), clock);
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

sqlite3* sqlite_handle(Db& db) { return static_cast<SqliteDb&>(db).handle(); }

base::Status write(Store& store, Writer::Operation operation, Writer::Priority priority) {
  auto told = std::make_shared<std::promise<base::Status>>();
  auto answer = told->get_future();
  store.writer().submit(priority, 0, std::move(operation),
                        [told](base::Status status) { told->set_value(std::move(status)); });
  return answer.get();
}

base::Status bump(Tx& tx) {
  tx.db.prepare("UPDATE access_version SET version = version + 1").run();
  return {};
}

std::int64_t bumps(Store& store) {
  std::int64_t version = 0;
  auto read = store.readers().read([&](Db& db) {
    auto s = db.prepare("SELECT version - 1 FROM access_version");
    if (s.step()) version = s.integer(0);
  });
  return read ? version : -1;
}

struct HeldWriter::State {
  std::promise<void> inside, go;
  std::atomic<bool> entered{false}, gone{false};
};

HeldWriter::HeldWriter(Store& store) : state_(std::make_shared<State>()) {
  store.writer().submit(
      Writer::Priority::kUrgent, 0,
      [state = state_](Tx&) -> base::Status {
        if (!state->entered.exchange(true)) {
          state->inside.set_value();
          state->go.get_future().wait();
        }
        return {};
      },
      [](base::Status) {});
  state_->inside.get_future().wait();
}

void HeldWriter::let_go() {
  if (!state_->gone.exchange(true)) state_->go.set_value();
}

}  // namespace millrace::storage
