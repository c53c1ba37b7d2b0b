#include "storage/machine_names.h"

#include "schemas/machine.h"

namespace millrace::storage {

std::optional<base::Uuid> machine_named(Db& db, const std::string& tenant, const std::string& name,
                                        const base::Uuid& but) {
  auto s = db.prepare(
      "SELECT id FROM machines INDEXED BY machines_listed WHERE tenant = ?1 AND phase <> 6 AND desired <> 2 "
      "AND name = ?2 AND id <> ?3 LIMIT 1");
  if (!s.bind(tenant, name, but).step()) return std::nullopt;
  return s.uuid(0);
}

base::Error name_is_taken(const std::string& name, const base::Uuid& by) {
  return base::error(
      base::Code::kInvalidState,
      "a machine is called \"" + name + "\" already: " + schemas::machine_id(by) + "; give it another name",
      "name");
}

std::string name_by_id(std::string_view stem, const base::Uuid& id) {
  constexpr std::size_t kTail = 8;
  const std::string text = id.str();
  return std::string(stem.substr(0, schemas::kMachineNameMax - kTail - 1)) + "-" +
         text.substr(text.size() - kTail);
}

}  // namespace millrace::storage
