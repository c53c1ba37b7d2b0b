#include "storage/tenants/reservations.h"

#include <algorithm>
#include <string>
#include <vector>

#include "storage/db/db.h"
#include "storage/jobs/maintenance_steps.h"

namespace millrace::storage {
namespace {

using schemas::Charge;
using schemas::NanoUsd;

struct Reservation {
  base::Uuid id;
  std::string tenant, key_id;
  std::int64_t day = 0;
  NanoUsd nano = 0, first = 0, sent = 0;

  Owner owner() const { return {tenant, key_id}; }
};

Reservation at(const Statement& row) {
  return {.id = row.uuid(0),
          .tenant = std::string(row.text(1)),
          .key_id = std::string(row.text(2)),
          .day = row.integer(3),
          .nano = row.integer(4),
          .first = row.integer(5),
          .sent = row.integer(6)};
}

constexpr Sql kFindReservation =
    "SELECT id, tenant, key_id, day, nano, first_nano, sent_nano FROM reservations WHERE id = ?1";

std::optional<Reservation> find(Db& db, const base::Uuid& id) {
  auto s = db.prepare_without_flush(kFindReservation);
  if (!s.bind(id).step()) return std::nullopt;
  return at(s);
}

void insert(Tx& tx, const Reservation& made, const std::optional<base::Uuid>& holder) {
  std::optional<std::int64_t> expires_at;
  if (holder) expires_at = base::millis(tx.steady() + kReservationLife);
  tx.db
      .prepare_without_flush(R"(
          INSERT INTO reservations (id, tenant, key_id, day, nano, first_nano, sent_nano, holder, expires_at)
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))"_sql)
      .bind(made.id, made.tenant, made.key_id, made.day, made.nano, made.first, made.sent, holder, expires_at)
      .run();
  tx.quotas.add_use(tx.db, made.owner(), made.day, {.reserved = made.nano});
}

// Writes the new amounts of a reservation.
void update(Tx& tx, const Reservation& before, NanoUsd nano, NanoUsd sent) {
  tx.db.prepare_without_flush("UPDATE reservations SET nano = ?2, sent_nano = ?3 WHERE id = ?1")
      .bind(before.id, nano, sent)
      .run();
  if (nano != before.nano)
    tx.quotas.add_use(tx.db, before.owner(), before.day, {.reserved = nano - before.nano});
}

// Reserves `more`, which counts today, and so does then the whole reservation: budgets are checked against
// today's period. The caller writes the new amount. An error changes nothing.
base::Status allow_today(Tx& tx, Reservation& reservation, NanoUsd more) {
  const std::int64_t today = utc_day(tx.now);
  if (reservation.day == today) {
    if (auto refused = tx.quotas.budget_refusal(tx.db, reservation.owner(), more)) return std::move(*refused);
    return {};
  }
  // Taken out first: the day of the reservation may be in the present month.
  tx.quotas.add_use(tx.db, reservation.owner(), reservation.day, {.reserved = -reservation.nano});
  auto refused = tx.quotas.budget_refusal(tx.db, reservation.owner(), reservation.nano + more);
  if (!refused) {
    reservation.day = today;
    tx.db.prepare_without_flush("UPDATE reservations SET day = ?2 WHERE id = ?1")
        .bind(reservation.id, today)
        .run();
  }
  tx.quotas.add_use(tx.db, reservation.owner(), reservation.day, {.reserved = reservation.nano});
  if (refused) return std::move(*refused);
  return {};
}

void remove(Tx& tx, const Reservation& reservation) {
  tx.db.prepare_without_flush("DELETE FROM reservations WHERE id = ?1").bind(reservation.id).run();
  tx.quotas.add_use(tx.db, reservation.owner(), reservation.day, {.reserved = -reservation.nano});
}

void charge(Tx& tx, const Owner& owner, std::int64_t day, const Charge& used) {
  if (used.cost > 0) tx.quotas.add_use(tx.db, owner, day, {.cost = used.cost});
  if (used.tokens > 0 || used.audio_ms > 0) {
    tx.quotas.add_use(tx.db, owner, utc_day(tx.now), {.tokens = used.tokens, .audio_ms = used.audio_ms});
  }
}

// The owner of a job. Children have no key: they count for their root's.
struct JobOwner {
  std::string tenant, key_id;
  operator Owner() const { return {tenant, key_id}; }
};
JobOwner owner_of(Db& db, const JobRow& row) {
  if (!row.parent) return {row.tenant, row.key_id};
  const auto root = find_job(db, *row.parent);
  return {row.tenant, root ? root->key_id : std::string()};
}

}  // namespace

std::optional<base::Error> budget_refusal(Tx& tx, const Owner& owner, std::optional<NanoUsd> cost_max) {
  if (!tx.quotas.has_budget(tx.db, owner)) return std::nullopt;
  if (!cost_max) return no_price_error();
  return tx.quotas.budget_refusal(tx.db, owner, *cost_max);
}

void reserve_for_job(Tx& tx, const JobRow& row) {
  const Owner owner{row.tenant, row.key_id};
  if (!row.cost_max || !tx.quotas.has_budget(tx.db, owner)) return;
  insert(tx,
         {.id = row.id,
          .tenant = row.tenant,
          .key_id = row.key_id,
          .day = utc_day(tx.now),
          .nano = *row.cost_max,
          .first = *row.cost_max},
         std::nullopt);
}

void prefetch_reservation(Db& db, const base::Uuid& job) {
  db.prefetch(kFindReservation, BlobView{job.bytes()});
}

bool has_reservation(Db& db, const JobRow& row) {
  return find(db, row.id) || (row.parent && find(db, *row.parent));
}

base::Status reserve_at_start(Tx& tx, const JobRow& row) {
  auto own = find(tx.db, row.id);
  if (!own) return {};
  return allow_today(tx, *own, 0);
}

// A child takes what it can from its root's reservation, and the rest from the budget.
base::Status reserve_call(Tx& tx, const JobRow& row, std::optional<NanoUsd> attempt_max) {
  auto own = find(tx.db, row.id);
  auto root = row.parent ? find(tx.db, *row.parent) : std::nullopt;
  if (!own && !root) return {};
  if (!attempt_max) return no_price_error();
  const NanoUsd sent = std::max(own ? own->sent : 0, *attempt_max);  // writes may arrive out of order
  const NanoUsd missing = std::max<NanoUsd>(0, sent - (own ? own->nano : 0));
  const NanoUsd from_root = root ? std::min(missing, root->nano) : 0;
  Reservation& payer = own ? *own : *root;
  if (missing > from_root) {
    if (auto allowed = allow_today(tx, payer, missing - from_root); !allowed) return allowed;
  }
  if (from_root > 0) {
    update(tx, *root, root->nano - from_root, root->sent);
  }
  if (own) {
    update(tx, *own, own->nano + missing, sent);
    return {};
  }
  insert(tx,
         {.id = row.id,
          .tenant = root->tenant,
          .key_id = root->key_id,
          .day = root->day,
          .nano = sent,
          .sent = sent},
         std::nullopt);
  return {};
}

base::Status settle_attempt(Tx& tx, const JobRow& row, const std::optional<Charge>& used, bool ended) {
  const auto own = find(tx.db, row.id);
  if (!own) {
    if (used) charge(tx, owner_of(tx.db, row), utc_day(tx.now), *used);
    return {};
  }
  const Charge paid = used.value_or(Charge{.cost = own->sent});
  charge(tx, own->owner(), own->day, paid);
  // Released first: the next attempt may reserve again what this one did not spend.
  update(tx, *own, 0, 0);
  Reservation left = *own;
  left.nano = left.sent = 0;
  if (ended || row.parent) {
    remove(tx, left);
    return {};
  }
  if (auto allowed = allow_today(tx, left, left.first); !allowed) {
    remove(tx, left);
    return allowed;
  }
  update(tx, left, left.first, 0);
  return {};
}

void reserve_for_request(Tx& tx, const base::Uuid& id, const Owner& owner, NanoUsd cost_max,
                         const base::Uuid& holder) {
  insert(tx,
         {.id = id,
          .tenant = std::string(owner.tenant),
          .key_id = std::string(owner.key_id),
          .day = utc_day(tx.now),
          .nano = cost_max,
          .first = cost_max,
          .sent = cost_max},
         holder);
}

base::Status extend_request(Tx& tx, const base::Uuid& id, NanoUsd more) {
  auto own = find(tx.db, id);
  if (!own) return base::error(base::Code::kNotFound, "the reservation of this request has expired");
  if (auto allowed = allow_today(tx, *own, more); !allowed) return allowed;
  update(tx, *own, own->nano + more, own->sent + more);
  return {};
}

void settle_request(Tx& tx, const base::Uuid& id, const Charge& used) {
  const auto own = find(tx.db, id);
  if (!own) return;
  charge(tx, own->owner(), own->day, used);
  remove(tx, *own);
}

void renew_reservations(Tx& tx, const base::Uuid& holder) {
  tx.db.prepare("UPDATE reservations SET expires_at = ?2 WHERE holder = ?1")
      .bind(holder, base::millis(tx.steady() + kReservationLife))
      .run();
}

int settle_abandoned(Tx& tx, int budget) {
  if (!may_expire_jobs(tx)) return 0;
  std::vector<Reservation> abandoned;
  {
    auto s = tx.db.prepare(R"(
        SELECT id, tenant, key_id, day, nano, first_nano, sent_nano FROM reservations
        WHERE expires_at < ?1 LIMIT ?2)"_sql);
    s.bind(base::millis(tx.steady()), budget);
    while (s.step()) abandoned.push_back(at(s));
  }
  for (const Reservation& each : abandoned) {
    charge(tx, each.owner(), each.day, {.cost = each.sent});
    remove(tx, each);
  }
  return static_cast<int>(abandoned.size());
}

}  // namespace millrace::storage
