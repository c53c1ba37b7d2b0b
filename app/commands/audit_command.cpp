#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "app/cli/cut_off.h"
#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"

namespace millrace::app {
namespace {

constexpr int kPageRows = 1'000;

// Writes the data exactly as stored, so that its hash can be recomputed. Data that is not a one-line JSON
// object is written as a string.
void add_data(schemas::JsonObject& out, const std::string& data) {
  const bool one_line = data.find('\n') == std::string::npos;
  if (one_line && nlohmann::json::parse(data, nullptr, false).is_object()) {
    out.raw("data", data);
  } else {
    out.raw("data", schemas::dump(data));
  }
}

std::string line_of(const storage::AuditRow& row) {
  schemas::JsonObject out;
  out.number("seq", row.seq)
      .member("at", base::rfc3339(row.at))
      .member("tenant", row.entry.tenant)
      .member("actor", row.entry.actor)
      .member("act", row.entry.act)
      .member("target", row.entry.target);
  add_data(out, row.entry.data);
  return out.member("prev_hash", base::hex(row.prev_hash)).member("hash", base::hex(row.hash)).finish();
}

// Prints page by page until no row is left.
int print_rows(storage::Audit audit, std::int64_t after) {
  for (;;) {
    const auto rows = audit.rows(after, kPageRows);
    if (!rows) return fail(rows.error().message);
    for (const storage::AuditRow& row : *rows) std::cout << line_of(row) << '\n';
    if (const int written = cli::finish_output(); written != cli::kOk) return written;
    if (rows->size() < kPageRows) return cli::kOk;
    after = rows->back().seq;
  }
}

}  // namespace

int audit_export(std::int64_t after, const Flags& flags) {
  return with_store(flags,
                    [&](OpenedStore& opened) { return print_rows(storage::Audit(*opened.store), after); });
}

int audit_verify(const Flags& flags) {
  return with_store(flags, [](OpenedStore& opened) {
    const auto verdict = storage::Audit(*opened.store).verify();
    if (!verdict) return fail(verdict.error().message);
    const std::string good = std::to_string(verdict->rows);
    if (verdict->broken_at) {
      return fail("the audit log is broken at row " + std::to_string(*verdict->broken_at) +
                  ": it was changed, removed or inserted. The " + good +
                  " before it are intact, up to hash " + base::hex(verdict->last_hash));
    }
    std::cout << good << " rows are intact; the last hash is " << base::hex(verdict->last_hash) << '\n';
    return static_cast<int>(cli::kOk);
  });
}

}  // namespace millrace::app
