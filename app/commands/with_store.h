#pragma once
#include <functional>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "app/config/settings.h"
#include "platform/base/clock.h"
#include "storage/store.h"

// What the commands on a data directory have in common.
namespace millrace::app {

// Print `message` on stderr; the exit code.
int fail(const std::string& message);
int usage(const std::string& message);

// Prints what is wrong with the configuration on stderr: kExitUsage if it cannot be used.
int print_mistakes(const LoadedSettings& loaded);

// The store and pepper of the data directory that the flags name. A running gateway may have it open as well.
struct OpenedStore {
  base::SystemClock clock;
  std::unique_ptr<storage::Store> store;
  std::string pepper;
};

// Who it is that acts so, for the audit log.
inline constexpr const char* kCliActor = "cli";

// Runs `act` on the opened store; every fault ends as a message and an exit code.
int with_store(const Flags& flags, const std::function<int(OpenedStore&)>& act);

// Whether a gateway has made its store in `data_dir`. True as well where that cannot be seen, and where its
// database is lost: then opening it says why.
bool holds_store(const std::string& data_dir);

}  // namespace millrace::app
