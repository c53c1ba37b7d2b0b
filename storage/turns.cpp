#include "storage/turns.h"

namespace millrace::storage {

WhoseTurn::WhoseTurn(Db& db, schemas::Kind kind, TurnUse use) : db_(db), kind_(kind), use_(use) {
  auto s = db_.prepare("SELECT tenant FROM turns WHERE kind = ?1 AND use = ?2");
  if (s.bind(kind_, use_).step()) started_after_ = tenant_ = s.text(0);
}

std::optional<base::Uuid> Turns::next() {
  const std::string last = whose_.tenant();
  auto job = after(last);
  if (!job && !last.empty()) job = after({});
  return job;
}

std::optional<base::Uuid> Turns::after(const std::string& tenant) {
  // Published jobs are passed over: they lie at the heads and are never more than the window.
  auto s =
      use_ == TurnUse::kClaim
          ? db_.prepare(
                "SELECT tenant, id FROM jobs WHERE status = 0 AND run_at = 0 AND kind = ?1 AND tenant > ?2 "
                "ORDER BY tenant, priority DESC, id LIMIT 1")
          : db_.prepare(
                "SELECT tenant, id FROM jobs WHERE status = 0 AND run_at = 0 AND kind = ?1 AND tenant > ?2 "
                "AND published_at = 0 ORDER BY tenant, priority DESC, id LIMIT 1");
  if (!s.bind(kind_, tenant).step()) return std::nullopt;
  whose_.served(s.text(0));
  return s.uuid(1);
}

void WhoseTurn::save() {
  if (tenant_ == started_after_) return;
  db_.prepare(
         "INSERT INTO turns (kind, use, tenant) VALUES (?1, ?2, ?3) "
         "ON CONFLICT (kind, use) DO UPDATE SET tenant = excluded.tenant")
      .bind(kind_, use_, tenant_)
      .run();
}

}  // namespace millrace::storage
