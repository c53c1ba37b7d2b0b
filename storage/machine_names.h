#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "storage/sqlite.h"

// The names of a tenant's machines: no two machines have the same one, but for those that are wanted
// destroyed, which have given theirs up. Every move that gives a machine a name asks here in its transaction.
namespace millrace::storage {

// The machine of `tenant`, other than `but`, that is called `name`.
std::optional<base::Uuid> machine_named(Db& db, const std::string& tenant, const std::string& name,
                                        const base::Uuid& but);
// kInvalidState: machine `by` is called `name`.
base::Error name_is_taken(const std::string& name, const base::Uuid& by);

// "STEM-89abcdef": a name that no other machine has, by the end of its id. Of at most 63 characters.
std::string name_by_id(std::string_view stem, const base::Uuid& id);

}  // namespace millrace::storage
