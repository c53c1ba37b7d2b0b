#include "app/cli/resume_file.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::cli {
namespace fs = std::filesystem;

std::string fresh_key(const std::string& command) {
  constexpr std::size_t kKeyBytes = 16;
  return command + "-" + base::hex(base::random_bytes(kKeyBytes));
}

base::Result<ResumeFile> ResumeFile::open(const fs::path& folder, std::string command) {
  ResumeFile file;
  file.path_ = folder / (".millrace-" + command + ".json");
  file.command_ = std::move(command);
  std::ifstream in(file.path_);
  if (!in) return file;
  const auto root = nlohmann::json::parse(in, nullptr, false);
  if (!root.is_object() || !root.contains("inputs") || !root["inputs"].is_object()) {
    return base::error(base::Code::kBadRequest,
                       file.path_.string() + " is not a resume file; remove it to start anew");
  }
  for (const auto& [input, row] : root["inputs"].items()) {
    file.entries_[input] = {row.value("stamp", ""), row.value("key", ""), row.value("job", ""),
                            row.value("status", ""), row.value("pages", 0)};
  }
  return file;
}

ResumeEntry& ResumeFile::entry(const std::string& input, const std::string& stamp) {
  ResumeEntry& entry = entries_[input];
  if (entry.stamp != stamp) entry = {stamp, fresh_key(command_), {}, {}, 0};
  return entry;
}

base::Status ResumeFile::save() const {
  nlohmann::json inputs = nlohmann::json::object();
  for (const auto& [input, e] : entries_) {
    inputs[input] = {
        {"stamp", e.stamp}, {"key", e.key}, {"job", e.job}, {"status", e.status}, {"pages", e.pages}};
  }
  const fs::path fresh = path_.string() + ".new";
  {
    std::ofstream out(fresh, std::ios::trunc);
    out << nlohmann::json{{"inputs", inputs}}.dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
        << '\n';
    if (!out.flush()) return base::error(base::Code::kInternal, "cannot write " + fresh.string());
  }
  std::error_code failed;
  fs::rename(fresh, path_, failed);
  if (failed)
    return base::error(base::Code::kInternal, "cannot write " + path_.string() + ": " + failed.message());
  return {};
}

}  // namespace millrace::cli
