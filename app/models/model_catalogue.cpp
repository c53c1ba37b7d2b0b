#include "app/models/model_catalogue.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "ai/engines/speech/model_files.h"
#include "app/cli/json_cells.h"
#include "app/config/models_section.h"
#include "app/config/section_map.h"
#include "app/config/speech_models_section.h"
#include "platform/base/net_address.h"
#include "schemas/media/local_transcription.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

constexpr std::string_view kCatalogueModels = "models";
constexpr std::array<std::string_view, 5> kCatalogueModelKeys{"name", "family", "languages", "licence",
                                                              "files"};
constexpr std::array<std::string_view, 4> kCatalogueFileKeys{"name", "url", "size", "sha256"};
constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kLicenceBytesMax = 200, kUrlBytesMax = 2'000;

// The texts are printed, so they have no control characters.
bool is_printable(std::string_view text, std::size_t bytes_max) {
  return text.size() <= bytes_max && std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// One part of a path that is not hidden: the partial download and the lock have other names.
bool is_file_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
  return !text.empty() && text.size() <= 200 && text.front() != '.' && text.front() != '-' &&
         text.find_first_not_of(kLetters) == std::string_view::npos && !text.ends_with(".part");
}

bool is_sha256(std::string_view text) {
  return text.size() == kSha256Digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

CatalogueFile read_catalogue_file(const ConfigNode& node, Mistakes& mistakes) {
  SectionMap map(node, "models.files", kCatalogueFileKeys, mistakes);
  CatalogueFile file;
  if (!map.is_map()) return file;
  file.name = map.text("name").value_or("");
  if (!is_file_name(file.name))
    map.mistake("name", "is the file's name without a folder: letters, digits and . _ - +");
  file.url = map.text("url").value_or("");
  if (!is_printable(file.url, kUrlBytesMax))
    map.mistake("url", "has at most " + std::to_string(kUrlBytesMax) + " characters, all of them printable");
  else if (!is_download_url(file.url))
    map.mistake("url", "must begin with https://, or be http:// on this machine");
  if (map.find("size") == nullptr) map.mistake("size", "is missing: the file's size in bytes");
  file.bytes = map.whole("size", 1, kModelFileBytesMax).value_or(0);
  file.sha256 = map.text("sha256").value_or("");
  if (!is_sha256(file.sha256)) map.mistake("sha256", "is the file's SHA-256: 64 digits, 0-9 and a-f");
  return file;
}

void read_catalogue_files(SectionMap& map, CatalogueModel& model, Mistakes& mistakes) {
  const ConfigNode* files = map.find("files");
  if (files == nullptr || files->kind != ConfigNode::Kind::kList || files->items.empty())
    return map.mistake("files",
                       "a list is expected here, as in `- {name: tokens.txt, url: …, size: …, sha256: …}`");
  if (files->items.size() > kModelFilesMax)
    return map.mistake("files", "more than " + std::to_string(kModelFilesMax) + " files");
  std::set<std::string> names;
  for (const ConfigNode& node : files->items) {
    model.files.push_back(read_catalogue_file(node, mistakes));
    if (!names.insert(model.files.back().name).second)
      map.mistake("files", "two files have the name \"" + model.files.back().name + "\"");
  }
}

constexpr std::string_view kSpeakersFamily = "speakers";

void check_speaker_names(SectionMap& map, const CatalogueModel& model) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(model.files, name, &CatalogueFile::name) != model.files.end();
  };
  if (!has(kSegmentationFile) || !has(kEmbeddingFile))
    map.mistake("files", "the family speakers has the files " + std::string(kSegmentationFile) + " and " +
                             std::string(kEmbeddingFile));
}

CatalogueModel read_catalogue_model(const ConfigNode& node, Mistakes& mistakes) {
  SectionMap map(node, std::string(kCatalogueModels), kCatalogueModelKeys, mistakes);
  CatalogueModel model;
  if (!map.is_map()) return model;
  model.name = map.text("name").value_or("");
  if (!is_file_name(model.name))
    map.mistake("name", "is the model's name and its folder's: letters, digits and . _ - +");
  if (const std::string taken = taken_model_name(model.name, schemas::default_transcription_names());
      !taken.empty())
    map.mistake("name", taken);
  const bool is_for_speakers = map.text("family") == kSpeakersFamily;
  if (is_for_speakers) {
    model.family = engines::SpeechModelFamily::kSpeakers;
  } else {
    if (const auto family = read_speech_family(map)) model.family = *family;
    model.languages = read_speech_languages(map);
  }
  model.licence = map.text("licence").value_or("");
  if (model.licence.empty()) map.mistake("licence", "is missing, as in MIT");
  if (!is_printable(model.licence, kLicenceBytesMax))
    map.mistake("licence", "has at most " + std::to_string(kLicenceBytesMax) +
                               " characters, all of them printable ASCII");
  read_catalogue_files(map, model, mistakes);
  if (is_for_speakers) check_speaker_names(map, model);
  return model;
}

std::vector<CatalogueModel> read_catalogue_models(const ConfigNode& section, const std::string& file_name,
                                                  Mistakes& mistakes) {
  std::vector<CatalogueModel> models;
  if (section.kind != ConfigNode::Kind::kList) {
    mistakes.push_back({section.place.empty() ? file_name : section.place,
                        "models: a list is expected here, as in `- name: whisper-base`"});
    return models;
  }
  std::set<std::string> names;
  for (const ConfigNode& node : section.items) {
    models.push_back(read_catalogue_model(node, mistakes));
    if (!names.insert(models.back().name).second)
      mistakes.push_back({node.place, "models.name: \"" + models.back().name + "\" is listed twice"});
  }
  return models;
}

}  // namespace

std::int64_t CatalogueModel::bytes() const {
  std::int64_t sum = 0;
  for (const CatalogueFile& file : files) sum += file.bytes;
  return sum;
}

bool is_download_url(std::string_view url) {
  if (!is_http_url(url)) return false;
  const bool is_tls = url.starts_with("https://");
  const std::string_view rest = url.substr(url.find("//") + 2);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos) return false;
  const auto address = base::parse_net_address(authority, 1);
  return address && (is_tls || base::is_loopback(address->host));
}

base::Result<std::vector<CatalogueModel>> read_catalogue(const std::string& file_name,
                                                         const std::string& text) {
  base::ConfigSources sources{.file_name = file_name, .file_text = text};
  sources.sections = {kCatalogueModels};
  const base::Config config = base::Config::read(std::span<const base::Setting>(), sources);
  Mistakes mistakes = config.mistakes();
  std::vector<CatalogueModel> models =
      mistakes.empty() ? read_catalogue_models(config.section(kCatalogueModels), file_name, mistakes)
                       : std::vector<CatalogueModel>();
  if (mistakes.empty()) return models;
  std::string summary;
  for (const base::ConfigMistake& mistake : mistakes)
    summary += (summary.empty() ? "" : "\n") + mistake.place + ": " + cli::one_line(mistake.message);
  return base::error(base::Code::kInvalidField, std::move(summary));
}

engines::SpeakerFiles speaker_files_in(const std::string& folder) {
  return {folder + "/" + std::string(kSegmentationFile), folder + "/" + std::string(kEmbeddingFile)};
}

namespace {

// In single quotes, in which a quote is doubled.
std::string yaml_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string stt_models_row(const CatalogueModel& model, const std::string& folder) {
  if (model.family == engines::SpeechModelFamily::kSpeakers) {
    const engines::SpeakerFiles files = speaker_files_in(folder);
    return "stt:\n  speakers:\n    segmentation: " + yaml_text(files.segmentation) +
           "\n    embedding: " + yaml_text(files.embedding) + "\n";
  }
  std::string languages;
  for (const std::string& code : model.languages) {
    // YAML 1.1 reads a bare `no`, Norwegian, as false.
    languages += (languages.empty() ? "" : ", ") + (code == "no" ? "\"no\"" : code);
  }
  return "stt:\n  models:\n  - name: " + yaml_text(model.name) +  // 1.0 would be a number
         "\n    family: " + std::string(engines::family_name(model.family)) +
         "\n    path: " + yaml_text(folder) + "\n    languages: [" + languages + "]\n";
}

}  // namespace millrace::app
