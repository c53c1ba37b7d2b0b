#pragma once
#include <optional>
#include <string>

#include "schemas/job.h"
#include "storage/sqlite.h"

// Inside storage: the claim order. Tenants in turn, and within a tenant priority, then age, but that the late
// shares of long documents take turns with everything else (docs/adr/0031).
namespace millrace::storage {

enum class TurnUse { kClaim = 0, kPublish = 1 };

// A document (or recording) that is split goes by age with so many of its shares; those behind them are late.
inline constexpr int kSharesByAge = 2;

// The tenant served last, as the store remembers it.
class WhoseTurn {
 public:
  WhoseTurn(Db& db, schemas::Kind kind, TurnUse use);
  const std::string& tenant() const { return tenant_; }  // empty: before the first
  void served(std::string tenant) { tenant_ = std::move(tenant); }
  void save();

 private:
  Db& db_;
  schemas::Kind kind_;
  TurnUse use_;
  std::string started_after_, tenant_;
};

// A walk over the heads of the tenants' queues of one kind: each `next` is one seek in jobs_ready, and where
// that finds a late share one more for each document that has one before the first job that is none. Begins
// after the tenant served last. The caller must take each job that it is given out of the walk (claim, end or
// publish it) before it asks for the next.
class Turns {
 public:
  Turns(Db& db, schemas::Kind kind, TurnUse use) : db_(db), kind_(kind), use_(use), whose_(db, kind, use) {}
  std::optional<base::Uuid> next();
  // Remembers whose turn it was.
  void save() { whose_.save(); }

 private:
  struct Head {
    std::string tenant;
    std::int64_t priority = 0;
    base::Uuid id;
    std::optional<base::Uuid> parent;
    int child_index = 0;
    bool is_late() const { return parent && child_index >= kSharesByAge; }
  };
  std::optional<Head> first_after(const std::string& tenant);
  std::optional<Head> first_behind(const Head& head);
  base::Uuid share_or_other(const Head& late);
  std::optional<base::Uuid> first_not_late(Head head);
  bool was_passed_over(const std::string& tenant);
  void pass_over(const std::string& tenant);

  Db& db_;
  schemas::Kind kind_;
  TurnUse use_;
  WhoseTurn whose_;
};

}  // namespace millrace::storage
