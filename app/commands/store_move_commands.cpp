#include <iostream>

#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "app/config/settings.h"
#include "storage/backup/store_copy.h"
#include "storage/postgres/inspection.h"
#include "storage/postgres/store.h"

namespace millrace::app {
namespace {

constexpr const char* kNeedsUrl = "store.url is not set: name the PostgreSQL database with --store.url";

int print_copy(const base::Result<std::vector<storage::TableCopy>>& copied, const std::string& next) {
  if (!copied) return fail(copied.error().message);
  std::int64_t rows = 0;
  for (const storage::TableCopy& each : *copied) rows += each.rows;
  std::cout << rows << " rows of " << copied->size() << " tables were copied and compared\n" << next << '\n';
  return cli::kOk;
}

void print_table(const storage::TableCopy& table) {
  if (table.rows > 0) std::cerr << "millrace: " << table.name << ": " << table.rows << " rows\n";
}

}  // namespace

int store_init(const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  if (const int code = print_mistakes(loaded); code != cli::kOk) return code;
  if (loaded.settings->store_url.empty()) return usage(kNeedsUrl);
  const auto schema = storage::create_postgres_schema(loaded.settings->store_url);
  if (!schema) return fail(schema.error().message);
  std::cout << "the PostgreSQL database has schema " << *schema << '\n';
  return cli::kOk;
}

int store_check(const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  if (const int code = print_mistakes(loaded); code != cli::kOk) return code;
  if (loaded.settings->store_url.empty()) return usage(kNeedsUrl);
  const auto found = storage::inspect_postgres(loaded.settings->store_url);
  if (!found) return fail(found.error().message);
  std::cout << "PostgreSQL " << found->server_version << ", schema " << found->schema
            << ", this millrace has " << found->newest_schema << ", "
            << (found->has_synchronous_standby ? "a" : "no") << " synchronous standby\n";
  return found->schema == found->newest_schema ? cli::kOk : cli::kFailed;
}

int store_copy(const std::string& target, const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  if (const int code = print_mistakes(loaded); code != cli::kOk) return code;
  const Settings& settings = *loaded.settings;
  if (target == "sqlite") {
    if (settings.store_url.empty()) return usage(kNeedsUrl);
    return print_copy(
        storage::copy_from_postgres(settings.store_url, settings.data_dir, print_table),
        "Start the gateway without store.url. The rows in PostgreSQL stay, but no gateway starts with them.");
  }
  if (!settings.store_url.empty())
    return usage("store.url is set, so the jobs are in PostgreSQL already; --to sqlite copies them back");
  if (!holds_store(settings.data_dir))
    return usage(settings.data_dir + " has no store; --data names its directory");
  return print_copy(
      storage::copy_to_postgres(settings.data_dir, target, print_table),
      "Start the gateway with this URL as store.url and the same --data: blobs and secrets stay there.");
}

}  // namespace millrace::app
