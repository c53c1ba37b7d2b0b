#pragma once
#include <string>
#include <string_view>

namespace millrace::storage {

// A statement of a role class in PostgreSQL's form. Parameters are $1, $2 …; each `?` without a number gets
// the next one. `INDEXED BY name` and `OR ROLLBACK` are left out. CROSS JOIN … ON is JOIN … ON. Text in
// quotes stays as it is.
std::string postgres_sql(std::string_view sql);

}  // namespace millrace::storage
