#include "app/commands/with_store.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>

#include "api/admission/keys.h"
#include "app/cli/program.h"
#include "app/config/store_options.h"
#include "storage/data_dir.h"

namespace millrace::app {
namespace {

base::Result<std::unique_ptr<OpenedStore>> open_store(const Settings& settings, Secrets secrets) {
  auto opened = std::make_unique<OpenedStore>();
  storage::Store::Options options = store_options(settings);
  options.continues_without_commits = false;
  auto store = storage::Store::open(options, opened->clock);
  if (!store) return store.error();
  opened->store = *std::move(store);
  opened->blobs = blob_place(settings);
  if (secrets == Secrets::kUnchecked) return opened;
  auto pepper = api::pepper_of(*opened->store);
  if (!pepper) return pepper.error();
  opened->pepper = *std::move(pepper);
  return opened;
}

// A mistake without the setting's name, where a flag already shows it.
std::string_view without_flag_name(const base::ConfigMistake& mistake) {
  std::string_view text = mistake.message;
  const std::size_t end = text.find(": ");
  if (end == std::string_view::npos) return text;
  std::string flag = "--" + std::string(text.substr(0, end));
  std::replace(flag.begin(), flag.end(), '_', '-');
  if (flag == mistake.place) text.remove_prefix(end + 2);
  return text;
}

}  // namespace

int fail(const std::string& message) {
  std::cerr << "millrace: " << message << '\n';
  return cli::kFailed;
}

int usage(const std::string& message) {
  fail(message);
  return cli::kUsage;
}

int print_mistakes(const LoadedSettings& loaded) {
  for (const base::ConfigMistake& mistake : loaded.mistakes) {
    std::cerr << (mistake.fatal ? "error: " : "warning: ") << mistake.place << ": "
              << without_flag_name(mistake) << '\n';
  }
  return loaded.settings ? cli::kOk : cli::kUsage;
}

int with_store(const Flags& flags, const std::function<int(OpenedStore&)>& act, Secrets secrets) {
  const LoadedSettings loaded = load_settings(flags);
  if (const int code = print_mistakes(loaded); code != cli::kOk) return code;
  const std::string& folder = loaded.settings->data_dir;
  if (loaded.settings->store_url.empty() && !holds_store(folder)) {
    return usage(folder +
                 " is not a data directory: it has no store yet. --data names the directory of a gateway "
                 "that exists; `" +
                 cli::program() + " serve` creates a new one.");
  }
  auto opened = open_store(*loaded.settings, secrets);
  return opened ? act(**opened) : fail(opened.error().message);
}

bool holds_store(const std::string& data_dir) {
  std::error_code unreadable;
  const storage::DataDir dir(data_dir);
  return std::filesystem::exists(dir.database, unreadable) || unreadable ||
         !storage::missing_database_error(dir).empty();
}

}  // namespace millrace::app
