#include "schemas/machines/machine_request.h"

#include <algorithm>
#include <array>

#include "schemas/admin_request.h"

namespace millrace::schemas {
namespace {

constexpr std::int64_t kAutosleepTextMax = 64;

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

void read_name(void* object, FieldReader& reader, const Json& value) {
  const auto text = reader.text(value);
  if (!text) return reader.problem("Input should be a valid string", "string_type", &value);
  const bool good = !text->empty() && text->size() <= kMachineNameMax &&
                    std::all_of(text->begin(), text->end(), is_name_character);
  if (!good)
    return reader.problem("A name should have 1 to 63 of A-Z a-z 0-9 . _ -", "string_pattern_mismatch",
                          &value);
  if (machine_id_from(*text))
    return reader.problem("A name should not have the form of a machine's id (dm- and a UUID)", "value_error",
                          &value);
  static_cast<MachineChange*>(object)->name = std::string(*text);
}

void read_vcpu(void* object, FieldReader& reader, const Json& value) {
  if (!value.is_number()) return reader.problem("Input should be a valid number", "float_type", &value);
  const double vcpu = value.get<double>();
  if (vcpu < kVcpuMin)
    return reader.problem("Input should be greater than or equal to 0.1", "greater_than_equal", &value,
                          dump(Json{{"ge", kVcpuMin}}));
  if (vcpu > kVcpuMax)
    return reader.problem("Input should be less than or equal to 256", "less_than_equal", &value,
                          dump(Json{{"le", kVcpuMax}}));
  static_cast<MachineChange*>(object)->vcpu = vcpu;
}

void read_host(void* object, FieldReader& reader, const Json& value) {
  const auto text = reader.text(value);
  if (!text || text->empty() || text->size() > kHostNameMax)
    return reader.problem("A host should be a name of 1 to 253 characters", "string_type", &value);
  static_cast<MachineChange*>(object)->host = std::string(*text);
}

std::optional<std::int64_t> autosleep_of(const FieldReader& reader, const Json& value) {
  if (const auto text = reader.text(value)) {
    if (text->size() > std::size_t{kAutosleepTextMax}) return std::nullopt;
    return autosleep_seconds(*text);
  }
  if (!value.is_number_unsigned() && !value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{kAutosleepMax})
    return std::nullopt;
  const auto seconds = value.get<std::int64_t>();
  if (seconds < 0 || seconds > kAutosleepMax) return std::nullopt;
  return seconds;
}

void read_autosleep(void* object, FieldReader& reader, const Json& value) {
  const auto seconds = autosleep_of(reader, value);
  if (!seconds)
    return reader.problem(
        "Input should be a time such as \"30s\", \"15m\", \"7d3h4s\", a number of seconds, or \"never\"; at "
        "most 366 days",
        "value_error", &value, dump(Json{{"max_seconds", kAutosleepMax}}));
  static_cast<MachineChange*>(object)->autosleep_seconds = *seconds;
}

template <auto Member>
void put(void* object, FieldReader&, const Json& value) {
  static_cast<MachineChange*>(object)->*Member = value.get<int>();
}

constexpr std::array kChange{
    Field{.name = "name",
          .type = FieldType::kCustom,
          .text = "The machine's name; not of the form of a machine id",
          .schema = R"({"type":"string","minLength":1,"maxLength":63,"pattern":"^[A-Za-z0-9._-]+$"})",
          .custom = &read_name},
    Field{.name = "vcpu",
          .type = FieldType::kCustom,
          .text = "Number of processors; fractions are allowed",
          .default_json = "1",
          .schema = R"({"type":"number","minimum":0.1,"maximum":256})",
          .custom = &read_vcpu},
    Field{.name = "memory_mib",
          .type = FieldType::kInteger,
          .text = "Memory of all processes of the machine together",
          .min = kMemoryMibMin,
          .max = kMemoryMibMax,
          .default_json = "1024",
          .store = &put<&MachineChange::memory_mib>},
    Field{.name = "storage_gib",
          .type = FieldType::kInteger,
          .text = "Size of the disk, which can only grow",
          .min = kStorageGibMin,
          .max = kStorageGibMax,
          .default_json = "4",
          .store = &put<&MachineChange::storage_gib>},
    Field{
        .name = "autosleep",
        .type = FieldType::kCustom,
        .text = "The machine sleeps after this time without use: `30s`, `15m`, `7d3h4s`, seconds, or `never`",
        .default_json = R"("never")",
        .schema = R"({"type":["string","integer","null"],"minimum":0,"maximum":31622400})",
        .custom = &read_autosleep},
    Field{.name = "host",
          .type = FieldType::kCustom,
          .text = "Where a new machine runs, if the gateway has several hosts; default: the one with the "
                  "fewest machines",
          .schema = R"({"type":["string","null"],"minLength":1,"maxLength":253})",
          .custom = &read_host},
};
static_assert(kMachineNameMax == 63 && kHostNameMax == 253 && kVcpuMin == 0.1 && kVcpuMax == 256 &&
                  kAutosleepMax == 31'622'400,
              "the texts above name these");

struct Reboot {
  bool force = false;
};
constexpr std::array kReboot{
    Field{
        .name = "force",
        .type = FieldType::kBool,
        .text = "Cancels running executions first; without it, a machine with running executions returns 409",
        .default_json = "false",
        .store = &store_in<Reboot, &Reboot::force>},
};

}  // namespace

tl::expected<MachineChange, Refusal> parse_machine_change(std::string& body) {
  return read_body<MachineChange>(body, kChange);
}

tl::expected<bool, Refusal> parse_reboot(std::string& body) {
  const auto reboot = read_body<Reboot>(body, kReboot);
  if (!reboot) return tl::make_unexpected(reboot.error());
  return reboot->force;
}

void apply(const MachineChange& change, Machine& machine) {
  if (change.name) machine.name = *change.name;
  if (change.vcpu) machine.vcpu = *change.vcpu;
  if (change.memory_mib) machine.memory_mib = *change.memory_mib;
  if (change.storage_gib) machine.storage_gib = *change.storage_gib;
  if (change.autosleep_seconds) machine.autosleep_seconds = *change.autosleep_seconds;
  if (change.host) machine.host = change.host;
}

std::span<const Field> machine_change_fields() { return kChange; }
std::span<const Field> reboot_fields() { return kReboot; }

}  // namespace millrace::schemas
