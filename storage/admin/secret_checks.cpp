#include "storage/admin/secret_checks.h"

#include <utility>

#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/writer/readers.h"

namespace millrace::storage {

base::Result<std::optional<std::string>> SecretChecks::find(const std::string& name) {
  std::optional<std::string> value;
  const base::Status read = store_.readers().read([&](Db& db) {
    auto s = db.prepare("SELECT value FROM secret_checks WHERE name = ?1");
    s.bind(name);
    if (s.step()) value = s.text(0);
  });
  if (!read) return read.error();
  return value;
}

base::Status SecretChecks::add(std::string name, std::string value) {
  return write_and_wait(
      store_.writer(), [name = std::move(name), value = std::move(value)](Tx& tx) -> base::Status {
        tx.db.prepare("INSERT INTO secret_checks (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
            .bind(name, value)
            .run();
        return {};
      });
}

base::Status SecretChecks::replace(std::string name, std::string value, std::string actor) {
  return write_and_wait(
      store_.writer(),
      [name = std::move(name), value = std::move(value), actor = std::move(actor)](Tx& tx) -> base::Status {
        tx.db
            .prepare(R"(
            INSERT INTO secret_checks (name, value) VALUES (?1, ?2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value)"_sql)
            .bind(name, value)
            .run();
        append_audit(tx, {.tenant = {}, .actor = actor, .act = "secrets.accept", .target = name});
        return {};
      });
}

}  // namespace millrace::storage
