#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/machines/machine.h"

namespace millrace::schemas {

// The body of POST and PATCH /v1/machines; absent fields do not change.
struct MachineChange {
  std::optional<std::string> name;  // 1 to kMachineNameMax of [A-Za-z0-9._-]; not of the form of a machine id
  std::optional<double> vcpu;
  std::optional<int> memory_mib;
  std::optional<int> storage_gib;
  std::optional<std::int64_t> autosleep_seconds;  // field `autosleep`: a text or a number of seconds
  std::optional<std::string> host;                // where it runs; only for a new machine
};
// `body`: see read_json; an empty body counts as {}. Errors: kBadRequest (JSON), kInvalidField with its
// problems. Unknown fields are problems too.
tl::expected<MachineChange, Refusal> parse_machine_change(std::string& body);
// POST …/reboot: {force?}.
tl::expected<bool, Refusal> parse_reboot(std::string& body);
void apply(const MachineChange& change, Machine& machine);

// The tables of both bodies; OpenAPI's schemas are generated from them.
std::span<const Field> machine_change_fields();
std::span<const Field> reboot_fields();

}  // namespace millrace::schemas
