#pragma once
#include <functional>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "app/config/settings.h"
#include "platform/base/clock.h"
#include "storage/data_dir.h"
#include "storage/store.h"

// Helpers of the commands that work on a data directory.
namespace millrace::app {

// Print `message` to stderr and return the exit code.
int fail(const std::string& message);
int usage(const std::string& message);

// Prints the mistakes of the configuration to stderr. cli::kUsage if the configuration cannot be used.
int print_mistakes(const LoadedSettings& loaded);

// The store and the pepper of the data directory given by the flags. A running gateway may have it open as
// well.
struct OpenedStore {
  base::SystemClock clock;
  std::unique_ptr<storage::Store> store;
  std::string pepper;
  storage::BlobPlace blobs = storage::BlobPlace::kDataDir;
};

// The actor of these commands in the audit log.
inline constexpr const char* kCliActor = "cli";

// kUnchecked: the pepper is not read, so it may be missing or that of another store.
enum class Secrets : bool { kChecked, kUnchecked };
// Opens the store and runs `act` on it. Every error becomes a message and an exit code.
int with_store(const Flags& flags, const std::function<int(OpenedStore&)>& act,
               Secrets secrets = Secrets::kChecked);

// True if `data_dir` contains a store. Also true if that cannot be determined, or if the database file is
// missing: opening the store then reports the reason.
bool holds_store(const std::string& data_dir);

}  // namespace millrace::app
