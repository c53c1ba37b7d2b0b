#include "ai/engines/speech/model_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include <fnmatch.h>

namespace millrace::engines {
namespace {

namespace fs = std::filesystem;

struct RolePattern {
  SpeechFileRole role;
  const char* pattern;  // of the file name, for fnmatch
};

using Role = SpeechFileRole;

constexpr std::array<RolePattern, 3> kMoonshineMergedRoles{
    {{Role::kEncoder, "encoder*.@(onnx|ort)"},
     {Role::kMergedDecoder, "decoder*merged*.@(onnx|ort)"},
     {Role::kTokens, "tokens.txt"}}};
constexpr std::array<RolePattern, 5> kMoonshineSplitRoles{{{Role::kPreprocessor, "preprocess*.onnx"},
                                                           {Role::kEncoder, "encode*.onnx"},
                                                           {Role::kUncachedDecoder, "uncached_decode*.onnx"},
                                                           {Role::kCachedDecoder, "cached_decode*.onnx"},
                                                           {Role::kTokens, "tokens.txt"}}};
constexpr std::array<RolePattern, 3> kWhisperRoles{
    {{Role::kEncoder, "*encoder*.onnx"}, {Role::kDecoder, "*decoder*.onnx"}, {Role::kTokens, "*tokens.txt"}}};
constexpr std::array<RolePattern, 2> kSingleModelRoles{
    {{Role::kModel, "model*.onnx"}, {Role::kTokens, "tokens.txt"}}};
constexpr std::array<RolePattern, 4> kTransducerRoles{{{Role::kEncoder, "encoder*.onnx"},
                                                       {Role::kDecoder, "decoder*.onnx"},
                                                       {Role::kJoiner, "joiner*.onnx"},
                                                       {Role::kTokens, "tokens.txt"}}};

struct LayoutRow {
  SpeechModelLayout layout;
  SpeechModelFamily family;
  std::span<const RolePattern> roles;
  const char* foreign;  // a file of this name shows that the folder has another layout; "" for none
};

// Transducer before NeMo, SenseVoice before NeMo: names alone do not tell these families apart.
constexpr std::array<LayoutRow, 7> kLayouts{
    {{SpeechModelLayout::kMoonshineMerged, SpeechModelFamily::kMoonshine, kMoonshineMergedRoles, ""},
     {SpeechModelLayout::kMoonshineSplit, SpeechModelFamily::kMoonshine, kMoonshineSplitRoles, ""},
     {SpeechModelLayout::kWhisper, SpeechModelFamily::kWhisper, kWhisperRoles, "@(joiner*|*merged*)"},
     {SpeechModelLayout::kTransducer, SpeechModelFamily::kTransducer, kTransducerRoles, ""},
     {SpeechModelLayout::kSenseVoice, SpeechModelFamily::kSenseVoice, kSingleModelRoles, ""},
     {SpeechModelLayout::kNemoTransducer, SpeechModelFamily::kNemo, kTransducerRoles, ""},
     {SpeechModelLayout::kNemoCtc, SpeechModelFamily::kNemo, kSingleModelRoles, ""}}};

bool matches(const char* pattern, const std::string& name) {
  return ::fnmatch(pattern, name.c_str(), FNM_PERIOD | FNM_EXTMATCH) == 0;
}

base::Error model_error(std::string message) {
  return base::error(base::Code::kInternal, std::move(message));
}

}  // namespace

base::Result<std::vector<std::string>> model_folder_names(const std::string& folder) {
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  if (failed) return model_error("the model's folder " + folder + " cannot be read: " + failed.message());
  std::vector<std::string> names;
  for (std::size_t seen = 0; entry != fs::directory_iterator(); ++seen) {
    if (seen == kModelFolderEntriesMax) {
      return model_error("the model's folder " + folder + " has more than " +
                         std::to_string(kModelFolderEntriesMax) + " entries: name the folder of one model");
    }
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable)) names.push_back(entry->path().filename().string());
    entry.increment(failed);
    if (failed) return model_error("the model's folder " + folder + " cannot be read: " + failed.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// A file's name without its extension and its precision: two files with one stem are the same network.
struct NetworkName {
  std::string stem;
  int rank = 0;  // the smallest is preferred
};

NetworkName network_name(const std::string& name) {
  const fs::path path(name);
  NetworkName network{path.stem().string(), path.extension() == ".ort" ? 0 : 1};
  int precision = 1;
  for (const std::string_view suffix : {"int8", "uint8", "quantized", "fp16", "fp32", "float"}) {
    const std::size_t size = network.stem.size();
    if (size <= suffix.size() + 1 || !network.stem.ends_with(suffix)) continue;
    const char separator = network.stem[size - suffix.size() - 1];
    if (separator != '.' && separator != '_' && separator != '-') continue;
    network.stem.resize(size - suffix.size() - 1);
    precision = suffix == "fp16" ? 2 : suffix.ends_with("8") || suffix == "quantized" ? 0 : 1;
    break;
  }
  network.rank += 2 * precision;
  return network;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

base::Result<std::optional<std::string>> model_file_for(const char* pattern,
                                                        const std::vector<std::string>& names,
                                                        const std::string& folder) {
  std::vector<std::string> found;
  std::set<std::string> stems;
  for (const std::string& name : names) {
    if (!matches(pattern, name)) continue;
    found.push_back(name);
    stems.insert(network_name(name).stem);
  }
  if (found.empty()) return std::optional<std::string>();
  if (stems.size() > 1) {
    return model_error("the folder " + folder + " holds files of several models (" + listed(found) +
                       "): keep each model in a folder of its own");
  }
  return std::optional<std::string>(
      *std::min_element(found.begin(), found.end(), [](const std::string& left, const std::string& right) {
        return network_name(left).rank < network_name(right).rank;
      }));
}

namespace {

bool is_foreign(const LayoutRow& row, const std::vector<std::string>& names) {
  return *row.foreign != '\0' && std::any_of(names.begin(), names.end(), [&row](const std::string& name) {
    return matches(row.foreign, name);
  });
}

// The first pattern of the layout for which the folder has no file; nullptr if it has them all.
const RolePattern* missing_role(const LayoutRow& row, const std::vector<std::string>& names) {
  for (const RolePattern& role : row.roles) {
    const bool is_there = std::any_of(
        names.begin(), names.end(), [&role](const std::string& name) { return matches(role.pattern, name); });
    if (!is_there) return &role;
  }
  return nullptr;
}

bool fits(const LayoutRow& row, const std::vector<std::string>& names) {
  return !is_foreign(row, names) && missing_role(row, names) == nullptr;
}

// How many files of the layout the folder has.
std::size_t present_roles(const LayoutRow& row, const std::vector<std::string>& names) {
  return static_cast<std::size_t>(
      std::count_if(row.roles.begin(), row.roles.end(), [&names](const RolePattern& role) {
        return std::any_of(names.begin(), names.end(),
                           [&role](const std::string& name) { return matches(role.pattern, name); });
      }));
}

base::Error no_layout_fits(const SpeechModel& model, const std::vector<std::string>& names) {
  const std::string family(family_name(model.family));
  for (const LayoutRow& row : kLayouts) {
    if (row.family == model.family || !fits(row, names)) continue;
    return model_error("the folder " + model.path + " looks like a model of the family " +
                       std::string(family_name(row.family)) + ", not " + family +
                       ": correct `family` or `path`");
  }
  const LayoutRow* closest = nullptr;
  for (const LayoutRow& row : kLayouts) {
    if (row.family != model.family) continue;
    if (closest == nullptr || present_roles(row, names) > present_roles(*closest, names)) closest = &row;
  }
  const RolePattern* missing = missing_role(*closest, names);
  return model_error("the folder " + model.path + " has no " +
                     std::string(role_name(missing == nullptr ? Role::kModel : missing->role)) + " (" +
                     (missing == nullptr ? "a file of " + family : std::string(missing->pattern)) +
                     ") of a model of the family " + family);
}

}  // namespace

base::Status check_model_file(const std::string& path) {
  const fs::path file(path);
  constexpr std::string_view kPointer = "version https://git-lfs";
  std::array<char, kPointer.size()> head{};
  std::ifstream in(file, std::ios::binary);
  if (!in) return model_error("the model's file " + file.string() + " cannot be read");
  in.read(head.data(), head.size());
  if (in.gcount() == 0) return model_error("the model's file " + file.string() + " is empty");
  if (std::string_view(head.data(), static_cast<std::size_t>(in.gcount())) == kPointer) {
    return model_error("the model's file " + file.string() +
                       " is a Git LFS pointer, not the model: fetch it with `git lfs pull`");
  }
  return {};
}

namespace {

base::Result<SpeechModelFiles> files_of_layout(const LayoutRow& row, const std::string& folder,
                                               const std::vector<std::string>& names) {
  SpeechModelFiles result{row.layout, {}};
  for (const RolePattern& role : row.roles) {
    const auto name = model_file_for(role.pattern, names, folder);
    if (!name) return name.error();
    std::error_code failed;
    const fs::path file = fs::canonical(fs::path(folder) / **name, failed);
    if (failed) return model_error("the model's file " + **name + " in " + folder + ": " + failed.message());
    if (auto content = check_model_file(file.string()); !content) return content.error();
    result.files.push_back({role.role, file.string()});
  }
  return result;
}

}  // namespace

std::string_view role_name(SpeechFileRole role) {
  switch (role) {
    case Role::kEncoder:
      return "encoder";
    case Role::kDecoder:
      return "decoder";
    case Role::kJoiner:
      return "joiner";
    case Role::kMergedDecoder:
      return "merged_decoder";
    case Role::kPreprocessor:
      return "preprocessor";
    case Role::kUncachedDecoder:
      return "uncached_decoder";
    case Role::kCachedDecoder:
      return "cached_decoder";
    case Role::kModel:
      return "model";
    case Role::kTokens:
      return "tokens";
  }
  return "";
}

std::string_view family_name(SpeechModelFamily family) {
  switch (family) {
    case SpeechModelFamily::kMoonshine:
      return "moonshine";
    case SpeechModelFamily::kWhisper:
      return "whisper";
    case SpeechModelFamily::kSenseVoice:
      return "sense_voice";
    case SpeechModelFamily::kTransducer:
      return "transducer";
    case SpeechModelFamily::kNemo:
      return "nemo";
    case SpeechModelFamily::kSpeakers:
      return "speakers";
  }
  return "";
}

std::optional<SpeechModelFamily> family_named(std::string_view name) {
  for (const SpeechModelFamily family : kSpeechModelFamilies) {
    if (family_name(family) == name) return family;
  }
  return std::nullopt;
}

std::string_view SpeechModelFiles::path(SpeechFileRole role) const {
  const auto file =
      std::find_if(files.begin(), files.end(), [role](const SpeechModelFile& f) { return f.role == role; });
  return file == files.end() ? std::string_view() : std::string_view(file->path);
}

base::Result<SpeechModelFiles> find_model_files(const SpeechModel& model) {
  const auto names = model_folder_names(model.path);
  if (!names) return names.error();
  for (const LayoutRow& row : kLayouts) {
    if (row.family == model.family && fits(row, *names)) return files_of_layout(row, model.path, *names);
  }
  return no_layout_fits(model, *names);
}

}  // namespace millrace::engines
