#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "app/config/settings.h"
#include "storage/backup/store_copy.h"
#include "storage/data_dir.h"
#include "storage/postgres/inspection.h"
#include "storage/postgres/store.h"
#include "storage/s3/blob_copy.h"
#include "storage/s3/s3_blobs.h"

namespace millrace::app {
namespace {

constexpr const char* kNeedsUrl = "store.url is not set: name the PostgreSQL database with --store.url";

constexpr const char* kGoesOn = "; run the command again, it goes on where this one stopped";

void print_table(const storage::TableCopy& table) {
  if (table.rows > 0) std::cerr << "millrace: " << table.name << ": " << table.rows << " rows\n";
}

void print_progress(const s3::BlobCopyProgress& progress) {
  std::cerr << "millrace: blobs: " << progress.done << " of " << progress.total << ", "
            << storage::mebibytes(progress.bytes) << '\n';
}

// The name of the store for the bucket: at this URL, or in the data directory.
base::Result<std::string> owner_of(const Settings& settings, const std::string& url) {
  if (url.empty()) return storage::sqlite_owner(storage::DataDir(settings.data_dir));
  auto found = storage::inspect_postgres(url);
  if (!found) return found.error();
  if (!found->owner.empty()) return std::move(found->owner);
  return base::error(base::Code::kNotFound, "the database at store.url has no store of this version");
}

// One run of `store copy`: the content of blobs between the data directory and S3 if blobs.url is set, then
// all rows.
class CopyCommand {
 public:
  CopyCommand(const Settings& settings, bool skips_damaged)
      : settings_(settings), skips_damaged_(skips_damaged) {}

  int to_postgres(const std::string& url) {
    const auto upload = [this](const Blobs& blobs) -> base::Status {
      if (auto own = claim_bucket(); !own) return own;
      return finished(s3::copy_blobs_to_bucket(blobs, folder(), bucket(), print_progress));
    };
    const auto copied = storage::copy_to_postgres(settings_.data_dir, url, steps(upload));
    if (copied && settings_.blobs) {
      if (auto taken = hand_bucket_over(url); !taken) return fail(taken.error().message + kGoesOn);
    }
    return print(copied, kStartWithUrl);
  }
  int to_sqlite() {
    const auto download = [this](const Blobs& blobs) {
      return finished(s3::copy_blobs_from_bucket(blobs, folder(), settings_.disk_free_min_bytes, bucket(),
                                                 print_progress));
    };
    return print(storage::copy_from_postgres(settings_.store_url, settings_.data_dir, steps(download)),
                 kStartWithoutUrl);
  }

 private:
  using Blobs = std::vector<storage::BlobRef>;
  static constexpr const char* kStartWithUrl =
      "Start the gateway with this URL as store.url and the same --data: secrets stay there";
  static constexpr const char* kStartWithoutUrl =
      "Start the gateway without store.url and blobs.url. The rows in PostgreSQL stay, but no gateway starts "
      "with them";

  storage::StoreCopySteps steps(const std::function<base::Status(const Blobs&)>& copy_blobs) const {
    storage::StoreCopySteps steps{.copied = print_table};
    if (settings_.blobs) steps.copy_blobs = copy_blobs;
    return steps;
  }
  std::string folder() const { return storage::DataDir(settings_.data_dir).blobs; }
  s3::Bucket bucket() const {
    return {.location = settings_.blobs->location, .credentials = settings_.blobs->credentials};
  }

  // Before anything is uploaded: the bucket has no other store.
  base::Status claim_bucket() const {
    const auto owner = owner_of(settings_, {});
    if (!owner) return owner.error();
    const auto own = s3::claim_bucket(settings_.blobs->location, settings_.blobs->credentials, *owner);
    const bool may_pass = !own && own.error().code == base::Code::kOverloaded;
    return may_pass ? base::error(own.error().code, own.error().message + kGoesOn) : own;
  }
  base::Status hand_bucket_over(const std::string& url) const {
    const auto owner = owner_of(settings_, url);
    if (!owner) return owner.error();
    return s3::take_bucket(settings_.blobs->location, settings_.blobs->credentials, *owner);
  }

  base::Status finished(const base::Result<s3::BlobCopy>& copied) {
    if (!copied) return base::error(copied.error().code, copied.error().message + kGoesOn);
    blobs_ = *copied;
    for (const std::string& each : copied->unread) std::cerr << "millrace: blob " << each << '\n';
    if (copied->unread.empty() || skips_damaged_) return {};
    return base::error(base::Code::kStoredDamaged,
                       std::to_string(copied->unread.size()) +
                           " blobs are missing or damaged in the source, so nothing was moved; restore "
                           "them from a backup, or go on without them with --skip-damaged");
  }

  int print(const base::Result<std::vector<storage::TableCopy>>& copied, const char* next) const {
    if (!copied) return fail(copied.error().message);
    std::int64_t rows = 0;
    for (const storage::TableCopy& each : *copied) rows += each.rows;
    std::cout << rows << " rows of " << copied->size() << " tables were copied and compared\n";
    if (settings_.blobs) {
      std::cout << blobs_.copied + blobs_.present << " blobs with " << storage::mebibytes(blobs_.bytes)
                << " were checked by their SHA-256: " << blobs_.copied << " copied, " << blobs_.present
                << " were there already, " << blobs_.unread.size() << " missing or damaged\n";
    }
    std::cout << next << (settings_.blobs ? ".\n" : ". The content of blobs stays where it was.\n");
    return cli::kOk;
  }

  const Settings& settings_;
  const bool skips_damaged_;
  s3::BlobCopy blobs_;
};

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
  const bool waits = found->has_synchronous_standby && !found->standby_is_connected;
  std::cout << "PostgreSQL " << found->server_version << ", schema " << found->schema
            << ", this millrace has " << found->newest_schema << ", "
            << (found->has_synchronous_standby ? "a" : "no") << " synchronous standby"
            << (waits ? " that is not connected: no commit ends" : "") << '\n';
  return found->schema == found->newest_schema && !waits ? cli::kOk : cli::kFailed;
}

int store_take_bucket(const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  if (const int code = print_mistakes(loaded); code != cli::kOk) return code;
  const Settings& settings = *loaded.settings;
  if (!settings.blobs) return usage("blobs.url is not set: there is no bucket to take");
  const auto owner = owner_of(settings, settings.store_url);
  if (!owner) return fail(owner.error().message);
  const auto taken = s3::take_bucket(settings.blobs->location, settings.blobs->credentials, *owner);
  if (!taken) return fail(taken.error().message);
  std::cout << "the objects at blobs.url belong to this store\n";
  return cli::kOk;
}

int store_copy(const std::string& target, bool skips_damaged, const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  if (const int code = print_mistakes(loaded); code != cli::kOk) return code;
  const Settings& settings = *loaded.settings;
  CopyCommand command(settings, skips_damaged);
  if (target == "sqlite") return settings.store_url.empty() ? usage(kNeedsUrl) : command.to_sqlite();
  if (!settings.store_url.empty())
    return usage("store.url is set, so the jobs are in PostgreSQL already; --to sqlite copies them back");
  if (!holds_store(settings.data_dir))
    return usage(settings.data_dir + " has no store; --data names its directory");
  return command.to_postgres(target);
}

}  // namespace millrace::app
