#include "storage/turns.h"

#include <algorithm>
#include <utility>

namespace millrace::storage {
namespace {

// Long documents of one tenant that one call skips; after so many, the oldest part is taken.
constexpr int kDocumentsPerTurn = 256;

// Parts get ascending ids, one directly after the other, so the last part's id is above all of them.
base::Uuid last_share(Db& db, const base::Uuid& parent) {
  auto s = db.prepare("SELECT id FROM jobs WHERE parent_id = ?1 ORDER BY child_index DESC LIMIT 1");
  s.bind(parent).step();
  return s.uuid(0);
}

}  // namespace

WhoseTurn::WhoseTurn(Db& db, schemas::Kind kind, TurnUse use) : db_(db), kind_(kind), use_(use) {
  auto s = db_.prepare("SELECT tenant FROM turns WHERE kind = ?1 AND use = ?2");
  if (s.bind(kind_, use_).step()) started_after_ = tenant_ = s.text(0);
}

std::optional<base::Uuid> Turns::next() {
  const std::string last = whose_.tenant();
  auto head = first_after(last);
  if (!head && !last.empty()) head = first_after({});
  if (!head) return std::nullopt;
  whose_.served(head->tenant);
  return head->is_late() ? share_or_other(*head) : head->id;
}

// Skips published jobs: they are at the front of the queues, and there are never more than the window allows.
std::optional<Turns::Head> Turns::first_after(const std::string& tenant) {
  auto s = db_.prepare(
      "SELECT tenant, priority, id, parent_id, child_index FROM jobs INDEXED BY jobs_ready WHERE status = 0 "
      "AND run_at = 0 AND kind = ?1 AND tenant > ?2 AND (?3 = 0 OR published_at = 0) "
      "ORDER BY tenant, priority DESC, id LIMIT 1");
  if (!s.bind(kind_, tenant, use_).step()) return std::nullopt;
  return Head{s.text(0), s.integer(1), s.uuid(2), s.optional_uuid(3), static_cast<int>(s.integer(4))};
}

std::optional<Turns::Head> Turns::first_behind(const Head& head) {
  auto s = db_.prepare(
      "SELECT id, parent_id, child_index FROM jobs INDEXED BY jobs_ready WHERE status = 0 AND run_at = 0 "
      "AND kind = ?1 AND tenant = ?2 AND priority = ?3 AND id > ?4 AND (?5 = 0 OR published_at = 0) "
      "ORDER BY id LIMIT 1");
  const base::Uuid behind = std::max(head.id, last_share(db_, *head.parent));
  if (!s.bind(kind_, head.tenant, head.priority, behind, use_).step()) return std::nullopt;
  return Head{head.tenant, head.priority, s.uuid(0), s.optional_uuid(1), static_cast<int>(s.integer(2))};
}

// Other jobs go first, so that a document without competition costs no write. A late part that was passed
// over goes next.
base::Uuid Turns::share_or_other(const Head& late) {
  if (was_passed_over(late.tenant)) return late.id;
  const auto other = first_not_late(late);
  if (!other) return late.id;
  pass_over(late.tenant);
  return *other;
}

std::optional<base::Uuid> Turns::first_not_late(Head head) {
  for (int documents = 0; documents < kDocumentsPerTurn; ++documents) {
    auto next = first_behind(head);
    if (!next) return std::nullopt;
    if (!next->is_late()) return next->id;
    head = std::move(*next);
  }
  return std::nullopt;
}

// True once after a part was passed over: it is taken now.
bool Turns::was_passed_over(const std::string& tenant) {
  auto s = db_.prepare("DELETE FROM passed_over WHERE kind = ?1 AND use = ?2 AND tenant = ?3");
  s.bind(kind_, use_, tenant).run();
  return s.changes() == 1;
}

void Turns::pass_over(const std::string& tenant) {
  db_.prepare("INSERT INTO passed_over (kind, use, tenant) VALUES (?1, ?2, ?3)")
      .bind(kind_, use_, tenant)
      .run();
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
