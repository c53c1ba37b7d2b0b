#include "app/cli/machine_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"
#include "platform/base/bytes.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr int kMebibyteShift = 20, kGibibyteShift = 30;
constexpr std::size_t kFactColumns = 21;
constexpr std::array<std::string_view, 10> kMachineFields = {
    "machine_id", "name",   "driver",  "desired_state", "phase",
    "vcpu",       "memory", "storage", "autosleep",     "created_at"};

std::string cell(const json& of, const char* key) {
  const auto found = of.find(key);
  return found == of.end() ? "-" : plain(*found);
}

// "2GiB" of a number of mebibytes.
std::string size_text(const json& of, const char* key, int shift) {
  const auto found = of.find(key);
  if (found == of.end() || !found->is_number_integer()) return "-";
  return base::format_bytes(found->get<std::int64_t>() << shift);
}

std::string autosleep_text(const json& machine) {
  const auto found = machine.find("autosleep_seconds");
  if (found == machine.end() || !found->is_number_integer()) return "-";
  const std::chrono::seconds time(found->get<std::int64_t>());
  return time.count() == 0 ? "never" : base::format_duration(time);
}

// A number with its unit in its name becomes one with it behind.
void reword(json& machine, const char* from, const char* to, std::string text) {
  if (machine.erase(from) > 0) machine[to] = std::move(text);
}

std::string columns(const std::array<std::string, 8>& cells) {
  constexpr std::array<std::size_t, 8> kWidths = {16, 39, 10, 7, 4, 8, 6, 0};
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : "  ") + padded(cells[i], kWidths[i]);
  return out;
}

std::string fact(std::string_view name, const std::string& value) {
  return padded(std::string(name), kFactColumns) + " " + value + "\n";
}

}  // namespace

std::string machine_header() {
  return columns({"NAME", "ID", "PHASE", "DRIVER", "VCPU", "MEMORY", "DISK", "AUTOSLEEP"});
}

std::string machine_row(const json& machine) {
  return columns({cell(machine, "name"), cell(machine, "machine_id"), cell(machine, "phase"),
                  cell(machine, "driver"), cell(machine, "vcpu"),
                  size_text(machine, "memory_mib", kMebibyteShift),
                  size_text(machine, "storage_gib", kGibibyteShift), autosleep_text(machine)});
}

std::string machine_text(const json& machine) {
  std::string out;
  json rest = machine;
  reword(rest, "memory_mib", "memory", size_text(machine, "memory_mib", kMebibyteShift));
  reword(rest, "storage_gib", "storage", size_text(machine, "storage_gib", kGibibyteShift));
  reword(rest, "autosleep_seconds", "autosleep", autosleep_text(machine));
  for (const std::string_view name : kMachineFields) {
    const auto found = rest.find(name);
    if (found == rest.end()) continue;
    out += fact(name, plain(*found));
    rest.erase(found);
  }
  const json status = rest.value("status", json::object());
  rest.erase("status");
  for (const auto& [name, value] : rest.items()) out += fact(name, plain(value));
  for (const auto& [name, value] : status.items()) {
    if (!machine.contains(name)) out += fact(name, plain(value));
  }
  return out;
}

}  // namespace millrace::cli
