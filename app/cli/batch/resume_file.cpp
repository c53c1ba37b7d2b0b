#include "app/cli/batch/resume_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/machines/execution.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

// Version 1 stored paths as they were typed and no outputs. Version 2 stored one entry per input for all
// formats. Version 3 replaced bytes of names that are not UTF-8.
constexpr int kVersion = 4;
constexpr int kFirstWithPlaces = 2;
constexpr int kFirstWithEncodedNames = 4;

// Names of files are bytes, JSON is UTF-8: names that are not UTF-8 are stored as base64.
constexpr std::string_view kEncoded = "base64:";

std::string stored_name(const std::string& name) {
  if (schemas::is_text(name) && !name.starts_with(kEncoded)) return name;
  return std::string(kEncoded) + base::base64_encode(name);
}

std::string name_of(const std::string& stored, int version) {
  if (version < kFirstWithEncodedNames || !stored.starts_with(kEncoded)) return stored;
  return base::base64_decode(std::string_view(stored).substr(kEncoded.size())).value_or(stored);
}

ResumeEntry entry_of(const json& row) {
  return {row.value("stamp", ""), row.value("key", ""),
          row.value("job", ""),   row.value("status", ""),
          row.value("pages", 0),  {row.value("layout", ""), row.value("layout_version", 0)}};
}

json row_of(const ResumeEntry& e) {
  json row = {{"stamp", e.stamp}, {"key", e.key}, {"job", e.job}, {"status", e.status}, {"pages", e.pages}};
  if (!e.layout.options.empty()) row["layout"] = e.layout.options;
  if (e.layout.version != 0) row["layout_version"] = e.layout.version;
  return row;
}

}  // namespace

std::string fresh_key(const std::string& command) {
  constexpr std::size_t kKeyBytes = 16;
  return command + "-" + base::hex(base::random_bytes(kKeyBytes));
}

base::Result<base::Fd> lock_outputs(const fs::path& folder, const std::string& command) {
  const fs::path path = folder / (".millrace-" + command + ".lock");
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) {
    return base::error(base::Code::kInternal,
                       "cannot write " + path.string() + ": " + std::generic_category().message(errno));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return file;
  return base::error(base::Code::kBadRequest, "another `" + command + "` already works for " +
                                                  folder.string() +
                                                  ": wait until it ends, or choose another folder");
}

base::Result<ResumeFile> ResumeFile::open(const fs::path& folder, std::string command) {
  ResumeFile file;
  std::error_code unknown;
  file.folder_ = fs::weakly_canonical(folder, unknown);
  file.path_ = folder / (".millrace-" + command + ".json");
  file.command_ = std::move(command);
  std::ifstream in(file.path_);
  if (!in) return file;
  const auto root = json::parse(in, nullptr, false);
  try {
    const int version = root.value("version", 1);
    const bool as_written = version < kFirstWithPlaces;  // relative to the folder in which the file was made
    for (const auto& [stored, row] : root.at("inputs").get_ref<const json::object_t&>()) {
      const std::string name = name_of(stored, version);
      Input& input = file.inputs_[as_written ? file.key_of(name) : name];
      for (const auto& [ending, output] : row.value("outputs", std::map<std::string, std::string>()))
        input.outputs[ending] = name_of(output, version);
      const json forms = row.value("forms", json::object({{"", row}}));
      for (const auto& [ending, form] : forms.get_ref<const json::object_t&>())
        input.forms[ending] = entry_of(form);
    }
  } catch (const json::exception&) {
    return base::error(base::Code::kBadRequest,
                       file.path_.string() + " is not a resume file; remove it to start from the beginning");
  }
  return file;
}

// Relative to the output folder.
std::string ResumeFile::key_of(const fs::path& input) const {
  std::error_code unknown;
  const fs::path whole = fs::weakly_canonical(fs::absolute(input, unknown), unknown);
  const fs::path relative = whole.lexically_relative(folder_);
  return (relative.empty() ? whole : relative).string();
}

ResumeEntry& ResumeFile::entry(const fs::path& input, const std::string& ending, const std::string& stamp) {
  std::map<std::string, ResumeEntry>& forms = inputs_[key_of(input)].forms;
  if (const auto old = forms.find({}); old != forms.end() && old->second.stamp == stamp) {
    forms[ending] = std::move(old->second);
    forms.erase(old);
  }
  ResumeEntry& entry = forms[ending];
  if (entry.stamp != stamp) entry = {stamp, fresh_key(command_), {}, {}, 0};
  return entry;
}

bool ResumeFile::has_no_known_output(const fs::path& input) const {
  const auto found = inputs_.find(key_of(input));
  return found != inputs_.end() && found->second.outputs.empty();
}

std::string ResumeFile::output(const fs::path& input, const std::string& ending) const {
  const auto known = inputs_.find(key_of(input));
  if (known == inputs_.end()) return {};
  const auto named = known->second.outputs.find(ending);
  return named == known->second.outputs.end() ? std::string() : named->second;
}

void ResumeFile::set_output(const fs::path& input, const std::string& ending, const fs::path& output) {
  inputs_[key_of(input)].outputs[ending] = output.string();
}

std::set<fs::path> ResumeFile::outputs() const {
  std::set<fs::path> all;
  for (const auto& [name, input] : inputs_) {
    for (const auto& [ending, output] : input.outputs) all.insert(output);
  }
  return all;
}

base::Status ResumeFile::save() const {
  json inputs = json::object();
  for (const auto& [name, input] : inputs_) {
    json forms = json::object(), outputs = json::object();
    for (const auto& [ending, entry] : input.forms) forms[ending] = row_of(entry);
    for (const auto& [ending, output] : input.outputs) outputs[ending] = stored_name(output);
    inputs[stored_name(name)] = {{"outputs", std::move(outputs)}, {"forms", std::move(forms)}};
  }
  const fs::path temporary_path = path_.string() + ".new";
  {
    std::ofstream out(temporary_path, std::ios::trunc);
    out << json{{"version", kVersion}, {"inputs", inputs}}.dump(1, ' ', false, json::error_handler_t::replace)
        << '\n';
    if (!out.flush()) return base::error(base::Code::kInternal, "cannot write " + temporary_path.string());
  }
  std::error_code failed;
  fs::rename(temporary_path, path_, failed);
  if (failed)
    return base::error(base::Code::kInternal, "cannot write " + path_.string() + ": " + failed.message());
  return {};
}

}  // namespace millrace::cli
