#pragma once
#include <optional>
#include <string>

#include "schemas/job.h"
#include "storage/sqlite.h"

// Inside storage: the claim order. Tenants take turns; within a tenant the order is priority, then age. But
// late parts of long documents alternate with all other jobs (docs/adr/0031).
namespace millrace::storage {

enum class TurnUse { kClaim = 0, kPublish = 1 };

// This many parts of a split document (or recording) are ordered by age; the parts after them are late.
inline constexpr int kSharesByAge = 2;

// The tenant that was served last, stored in the table `turns`.
class WhoseTurn {
 public:
  WhoseTurn(Db& db, schemas::Kind kind, TurnUse use);
  const std::string& tenant() const { return tenant_; }  // empty: none yet
  void served(std::string tenant) { tenant_ = std::move(tenant); }
  void save();

 private:
  Db& db_;
  schemas::Kind kind_;
  TurnUse use_;
  std::string started_after_, tenant_;
};

// Iterates over the first jobs of the tenants' queues of one kind. Each `next` is one seek in jobs_ready. If
// it finds a late part, it needs one more seek for each document that has a late part before the first job
// that is none. Starts after the tenant served last. The caller must remove each job that it gets from the
// queue (claim, end or publish it) before it calls `next` again.
class Turns {
 public:
  Turns(Db& db, schemas::Kind kind, TurnUse use) : db_(db), kind_(kind), use_(use), whose_(db, kind, use) {}
  std::optional<base::Uuid> next();
  // Stores the tenant that was served last.
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
