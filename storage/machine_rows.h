#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schemas/machine.h"
#include "storage/store.h"
#include "storage/writer.h"

namespace millrace::storage {

// The machines of this store, bound to a tenant. Moves never block (`done` on the announce thread after the
// commit); reads block: pool and slot threads.
class Machines {
 public:
  explicit Machines(Store& store) : store_(store) {}

  // A new row; its `number` is the next free one, its `created_at` the group's time.
  // kInvalidState: its id exists.
  void create(schemas::Machine machine, Done<schemas::Machine> done);
  // The machine `local` of the tenant, made with the defaults of schemas::Machine if the store has never made
  // one. kNotFound: it did, and the machine was destroyed since.
  void ensure_local(std::string tenant, base::Uuid fresh, Done<schemas::Machine> done);

  base::Result<schemas::Machine> machine(const std::string& tenant, const base::Uuid& id);  // kNotFound
  // Newest first, before this id.
  base::Result<std::vector<schemas::Machine>> list(const std::string& tenant, int limit,
                                                   std::optional<base::Uuid> before);

 private:
  Store& store_;
};

}  // namespace millrace::storage
