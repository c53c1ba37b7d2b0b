#include "app/cli/ocr_output.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "app/cli/whole_file.h"
#include "platform/base/base64.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

bool write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  return static_cast<bool>(out.flush());
}

// Pictures of one document, by their ids, in a folder of its own: ids repeat from document to document.
bool write_images(const json& page, const fs::path& folder) {
  bool ok = true;
  for (const json& image : page.value("images", json::array())) {
    const std::string uri = image.value("image_base64", "");
    const std::size_t comma = uri.find(',');
    const auto bytes = comma == std::string::npos ? std::nullopt : base::base64_decode(uri.substr(comma + 1));
    if (!bytes) continue;
    std::error_code failed;
    fs::create_directories(folder, failed);
    ok = write_file(folder / fs::path(image.value("id", "image")).filename(), *bytes) && ok;
  }
  return ok;
}

fs::path image_folder(const fs::path& output) { return output.string() + ".images"; }

// The markdown names its pictures where they were written.
std::string with_image_folder(std::string markdown, const fs::path& folder) {
  const std::string prefix = "](" + folder.filename().string() + "/img-";
  for (std::size_t at = 0; (at = markdown.find("](img-", at)) != std::string::npos; at += prefix.size()) {
    markdown.replace(at, 6, prefix);
  }
  return markdown;
}

}  // namespace

std::string markdown_of(const json& result) {
  std::string text;
  for (const json& page : result.value("pages", json::array())) {
    const std::string markdown = page.value("markdown", "");
    if (!text.empty() && !markdown.empty()) text += "\n\n";
    text += markdown;
  }
  return text.empty() || text.back() == '\n' ? text : text + "\n";
}

int failed_pages(const json& result) {
  int count = 0;
  for (const json& page : result.value("pages", json::array())) count += page.contains("error") ? 1 : 0;
  return count;
}

base::Status write_output(const json& result, const fs::path& output, bool images) {
  const base::Error failure = base::error(base::Code::kInternal, "cannot write " + output.string());
  std::error_code failed;
  fs::create_directories(output.parent_path(), failed);
  std::string markdown = markdown_of(result);
  if (images) {
    for (const json& page : result.value("pages", json::array())) {
      if (!write_images(page, image_folder(output))) return failure;
    }
    markdown = with_image_folder(std::move(markdown), image_folder(output));
  }
  return write_whole(output, markdown);
}

}  // namespace millrace::cli
