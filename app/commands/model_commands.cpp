#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "ai/engines/speech/model_files.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/program.h"
#include "app/cli/terminal.h"
#include "app/cli/whole_file.h"
#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "app/models/model_catalogue.h"
#include "app/models/model_download.h"
#include "platform/base/bytes.h"
#include "platform/base/nearest.h"
#include "storage/data_dir.h"

namespace millrace::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameWidth = 22, kFamilyWidth = 12, kSizeWidth = 8, kLicenceWidth = 24;
constexpr std::size_t kLanguagesShown = 6;

base::Result<std::vector<CatalogueModel>> catalogue_of(const std::string& file) {
  if (file.empty()) return built_in_catalogue();
  const auto text =
      cli::read_whole(file, kCatalogueBytesMax,
                      base::error(base::Code::kInvalidField, file + ": larger than " +
                                                                 base::format_bytes(kCatalogueBytesMax) +
                                                                 ", the limit of a catalogue"));
  if (!text) {
    return text.error().code == base::Code::kNotFound
               ? base::error(base::Code::kInvalidField, file + ": cannot be read")
               : text.error();
  }
  return read_catalogue(file, *text);
}

// One line on a terminal that shows how much of a file is there. Not thread-safe.
class DownloadLine {
 public:
  void show(const CatalogueFile& file, std::int64_t bytes) {
    const auto now = std::chrono::steady_clock::now();
    if (!on_terminal_ || now - shown_at_ < kShowEvery) return;
    shown_at_ = now;
    std::fprintf(stderr, "\r%s  %s of %s  %d%%\x1b[K", file.name.c_str(), base::short_bytes(bytes).c_str(),
                 base::short_bytes(file.bytes).c_str(), static_cast<int>(bytes * 100 / file.bytes));
    std::fflush(stderr);
  }
  void clear() const { std::fputs(on_terminal_ ? "\r\x1b[K" : "", stderr); }
  // A line that stays.
  void print(const std::string& text) const {
    clear();
    std::fprintf(stderr, "%s\n", text.c_str());
  }

 private:
  static constexpr std::chrono::milliseconds kShowEvery{100};
  const bool on_terminal_ = cli::moves_cursor(STDERR_FILENO);
  std::chrono::steady_clock::time_point shown_at_;
};

int exit_code_of(const base::Error& error) {
  switch (error.code) {
    case base::Code::kJobCancelled:
      return cli::kInterrupted;
    case base::Code::kFetchFailed:
      return cli::kNoConnection;
    default:
      return cli::kFailed;
  }
}

int unknown_name(const std::string& name, const std::vector<CatalogueModel>& models,
                 const ModelPullRequest& request) {
  std::vector<std::string_view> names;
  names.reserve(models.size());
  for (const CatalogueModel& model : models) names.push_back(model.name);
  const std::string_view near = base::nearest(name, names);
  const std::string list =
      cli::program() + " models catalogue" +
      (request.catalogue.empty() ? "" : " --catalogue " + cli::shell_word(request.catalogue));
  fail("the catalogue has no model \"" + cli::one_line(name) + "\"" +
       (near.empty() ? "" : "; did you mean " + std::string(near) + "?") + "; `" + list + "` lists them");
  return cli::kNotFound;
}

// The folder of the model. kInternal: the data directory cannot be used.
base::Result<std::string> pull_folder(const ModelPullRequest& request, const Flags& flags) {
  std::error_code failed;
  if (!request.folder.empty()) {
    const fs::path folder = fs::absolute(request.folder, failed).lexically_normal();
    const std::string text = folder.string();
    return text.size() > 1 && text.ends_with('/') ? text.substr(0, text.size() - 1) : text;
  }
  const LoadedSettings loaded = load_settings(flags);
  if (!loaded.settings) {
    print_mistakes(loaded);
    return base::error(base::Code::kInvalidField, "the configuration has errors; name a folder with --to");
  }
  const std::string data = fs::absolute(loaded.settings->data_dir, failed).lexically_normal().string();
  if (const auto opened = storage::open_data_dir(data); !opened) return opened.error();
  return data + (data.ends_with('/') ? "" : "/") + "models/" + request.name;
}

base::Status check_space(const CatalogueModel& model, const std::string& folder) {
  const std::int64_t needed = ModelDownload::missing_bytes(model, folder);
  const std::int64_t free = storage::free_bytes(folder);
  if (free < 0 || free >= needed) return {};
  return base::error(base::Code::kInternal, folder + " has " + base::short_bytes(free) +
                                                " free; the model needs " + base::short_bytes(needed) +
                                                " more");
}

base::Status download(const CatalogueModel& model, const std::string& folder) {
  cli::Interrupt interrupt;  // before any thread starts
  const auto lock = ModelDownload::lock_folder(folder);
  if (!lock) return lock.error();
  if (base::Status space = check_space(model, folder); !space) return space;
  DownloadLine line;
  line.print(model.name + ": " + base::short_bytes(model.bytes()) + ", licence " + model.licence);
  ModelDownload files(interrupt,
                      [&line](const CatalogueFile& file, std::int64_t bytes) { line.show(file, bytes); });
  for (const CatalogueFile& file : model.files) {
    if (base::Status done = files.fetch(file, folder); !done) {
      line.clear();
      return done;
    }
    line.print("✓ " + file.name);
  }
  return {};
}

base::Status check_files(const CatalogueModel& model, const std::string& folder) {
  if (model.family == engines::SpeechModelFamily::kSpeakers)
    return engines::check_speaker_files(speaker_files_in(folder));
  const auto files = engines::find_model_files({model.name, model.family, folder, model.languages});
  if (!files) return files.error();
  return {};
}

nlohmann::ordered_json catalogue_json(const CatalogueModel& model) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const CatalogueFile& file : model.files)
    files.push_back({{"name", file.name}, {"url", file.url}, {"size", file.bytes}, {"sha256", file.sha256}});
  return {{"name", model.name},
          {"family", engines::family_name(model.family)},
          {"languages", model.languages},
          {"licence", model.licence},
          {"files", std::move(files)}};
}

std::string catalogue_row(const CatalogueModel& model) {
  std::string languages;
  for (std::size_t i = 0; i < std::min(model.languages.size(), kLanguagesShown); ++i)
    languages += (i == 0 ? "" : " ") + model.languages[i];
  if (model.languages.size() > kLanguagesShown)
    languages += " and " + std::to_string(model.languages.size() - kLanguagesShown) + " more";
  return cli::padded(model.name, kNameWidth) + "  " +
         cli::padded(std::string(engines::family_name(model.family)), kFamilyWidth) + "  " +
         cli::padded(base::short_bytes(model.bytes()), kSizeWidth) + "  " +
         cli::padded(model.licence, kLicenceWidth) + "  " + languages;
}

}  // namespace

int models_pull(const ModelPullRequest& request, const Flags& flags) {
  const auto models = catalogue_of(request.catalogue);
  if (!models) return usage(models.error().message);
  const auto model = std::find_if(models->begin(), models->end(),
                                  [&](const CatalogueModel& each) { return each.name == request.name; });
  if (model == models->end()) return unknown_name(request.name, *models, request);
  const auto folder = pull_folder(request, flags);
  if (!folder) return usage(folder.error().message);
  if (const base::Status done = download(*model, *folder); !done) {
    fail(done.error().message);
    return exit_code_of(done.error());
  }
  if (const base::Status usable = check_files(*model, *folder); !usable) return fail(usable.error().message);
  std::cerr << "Add this to millrace.yaml, and restart the gateway:\n";
  std::cout << stt_models_row(*model, *folder);
  return cli::kOk;
}

int models_catalogue(const std::string& catalogue, bool json) {
  const auto models = catalogue_of(catalogue);
  if (!models) return usage(models.error().message);
  if (!json) {
    std::cout << cli::padded("MODEL", kNameWidth) << "  " << cli::padded("FAMILY", kFamilyWidth) << "  "
              << cli::padded("SIZE", kSizeWidth) << "  " << cli::padded("LICENCE", kLicenceWidth)
              << "  LANGUAGES\n";
  }
  for (const CatalogueModel& model : *models)
    std::cout << (json ? catalogue_json(model).dump() : catalogue_row(model)) << '\n';
  return cli::kOk;
}

}  // namespace millrace::app
