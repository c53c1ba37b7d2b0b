#pragma once
#include <optional>
#include <string>

#include "schemas/job.h"
#include "storage/sqlite.h"

// Inside storage: the claim order. Tenants in turn, and within a tenant priority, then age.
namespace millrace::storage {

enum class TurnUse { kClaim = 0, kPublish = 1 };

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

// A walk over the heads of the tenants' queues of one kind: each `next` is one seek in jobs_ready. Begins
// after the tenant served last. The caller must take each job that it is given out of the walk (claim, end or
// publish it) before it asks for the next.
class Turns {
 public:
  Turns(Db& db, schemas::Kind kind, TurnUse use) : db_(db), kind_(kind), use_(use), whose_(db, kind, use) {}
  std::optional<base::Uuid> next();
  // Remembers whose turn it was.
  void save() { whose_.save(); }

 private:
  std::optional<base::Uuid> after(const std::string& tenant);

  Db& db_;
  schemas::Kind kind_;
  TurnUse use_;
  WhoseTurn whose_;
};

}  // namespace millrace::storage
