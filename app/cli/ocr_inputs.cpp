#include "app/cli/ocr_inputs.h"

#include <algorithm>
#include <map>

namespace millrace::cli {
namespace fs = std::filesystem;
namespace {

bool is_document_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::string_view kKnown[] = {".pdf", ".png", ".jpg", ".jpeg", ".webp"};
  return std::find(std::begin(kKnown), std::end(kKnown), extension) != std::end(kKnown);
}

struct Found {
  fs::path file;
  fs::path relative;  // to what was named
};

base::Status add_folder(const fs::path& folder, std::vector<Found>& found) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed)) {
    if (entry.is_regular_file(failed) && is_document_name(entry.path())) files.push_back(entry.path());
  }
  if (files.empty()) {
    return base::error(base::Code::kInvalidField,
                       folder.string() + ": no PDF, PNG, JPEG or WebP in this folder");
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) found.push_back({file, fs::relative(file, folder)});
  return {};
}

std::vector<OcrInput> with_outputs(const std::vector<Found>& found, const fs::path& folder) {
  std::map<fs::path, int> uses;
  for (const Found& item : found) ++uses[fs::path(item.relative).replace_extension(".md")];
  std::map<fs::path, int> taken;
  std::vector<OcrInput> inputs;
  for (const Found& item : found) {
    fs::path name = fs::path(item.relative).replace_extension(".md");
    if (uses[name] > 1) name = item.relative.string() + ".md";
    if (const int again = taken[name]++; again > 0) {
      name = item.relative.string() + "." + std::to_string(again + 1) + ".md";
    }
    inputs.push_back({item.file, folder.empty() ? fs::path() : folder / name});
  }
  return inputs;
}

}  // namespace

base::Result<std::vector<OcrInput>> collect_inputs(const std::vector<std::string>& paths,
                                                   const fs::path& output_folder) {
  std::vector<Found> found;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (fs::is_directory(path, failed)) {
      if (const base::Status added = add_folder(path, found); !added) return added.error();
    } else if (fs::exists(path, failed)) {
      found.push_back({path, fs::path(path).filename()});
    } else {
      return base::error(base::Code::kNotFound, path + ": no such file or folder");
    }
  }
  return with_outputs(found, output_folder);
}

}  // namespace millrace::cli
