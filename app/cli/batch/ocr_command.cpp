#include "app/cli/batch/ocr_command.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/batch/batch_text.h"
#include "app/cli/batch/batch_work.h"
#include "app/cli/batch/page_join.h"
#include "app/cli/program.h"
#include "app/cli/whole_file.h"
#include "platform/base/base64.h"
#include "schemas/media/document_type.h"
#include "schemas/media/ocr.h"

namespace millrace::cli {
namespace {

class OcrWork final : public BatchWork {
 public:
  explicit OcrWork(const OcrArguments& request) : request_(request) {}

  std::string command() const override { return "ocr"; }
  ProgressNouns nouns() const override { return {}; }
  InputKinds kinds() const override { return document_kinds(); }
  std::string text_member() const override { return "markdown"; }
  std::string stamp() const override {
    return request_.pages + "-" + request_.model + (request_.images ? "-images" : "");
  }
  TextLayout layout() const override {
    return {std::string(request_.join.page_marks ? "marks" : "") +
                (request_.join.keep_running_lines ? "-running" : ""),
            request_.join.keep_running_lines ? 0 : kJoinVersion};
  }
  std::string options() const override;
  base::Result<Upload> upload(const std::filesystem::path& file) const override;
  base::Result<ParsedResult> read(std::string body) const override;

 private:
  const OcrArguments& request_;
};

std::string OcrWork::options() const {
  std::string options;
  if (!request_.pages.empty()) options += " --pages " + shell_word(request_.pages);
  if (!request_.model.empty()) options += " --model " + shell_word(request_.model);
  if (request_.images) options += " --images";
  if (request_.join.page_marks) options += " --page-marks";
  if (request_.join.keep_running_lines) options += " --keep-running-lines";
  return options;
}

base::Result<BatchWork::Upload> OcrWork::upload(const std::filesystem::path& file) const {
  const auto bytes = read_document(file);
  if (!bytes) return bytes.error();
  return Upload{"/v1/ocr", "application/json", request_body(request_, file, *bytes)};
}

base::Result<BatchWork::ParsedResult> OcrWork::read(std::string body) const {
  auto result = std::make_shared<const nlohmann::json>(nlohmann::json::parse(body, nullptr, false));
  if (!result->is_object()) return base::error(base::Code::kUpstream, "without the pages of a document");
  ParsedResult made;
  made.text = joined_pages(pages_of(*result), request_.join);
  made.parts = result->value("usage_info", nlohmann::json::object()).value("pages_processed", 0);
  if (const int bad = failed_pages(*result); bad > 0)
    made.partial_error = counted(bad, "pages") + " could not be read";
  else if (made.text.find_first_not_of(" \n") == std::string::npos)
    made.partial_error = "no text on " + std::string(made.parts == 1 ? "it" : "them");
  made.warnings = warnings_of(*result);
  made.write = [result, text = made.text, images = request_.images](const std::filesystem::path& output) {
    return write_output(*result, text, output, images);
  };
  return made;
}

}  // namespace

InputKinds document_kinds() {
  return {{".pdf", ".png", ".jpg", ".jpeg", ".webp"},
          "PDF, PNG, JPEG or WebP",
          ".md",
          {".tif", ".tiff", ".heic", ".heif", ".avif", ".bmp", ".gif",  ".jp2", ".djvu", ".ps",   ".eps",
           ".xps", ".doc",  ".docx", ".odt",  ".rtf",  ".ppt", ".pptx", ".odp", ".xls",  ".xlsx", ".ods"},
          [](const std::string& head) { return schemas::detect_media(head).has_value(); }};
}

int run_ocr(const OcrArguments& request, const ClientOptions& options) {
  if (request.output_folder.empty() && request.images)
    return fail_usage("--images needs an output folder: -o DIR");
  return run_batch(request, OcrWork(request), options);
}

namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr auto kBytesMax = static_cast<std::size_t>(schemas::kDocumentBytesMax);

}  // namespace

base::Result<std::string> read_document(const fs::path& file) {
  return read_whole(file, kBytesMax,
                    base::error(base::Code::kDocumentTooLarge, "The document is larger than 50 MB"));
}

// The document is appended as text, so that it is encoded once.
std::string request_body(const OcrArguments& request, const fs::path& file, const std::string& bytes) {
  json rest = {{"include_image_base64", request.images}};
  if (!request.pages.empty()) rest["pages"] = request.pages;
  if (!request.model.empty()) rest["model"] = request.model;
  request.start.add_to(rest);
  std::string body = rest.dump(-1, ' ', false, json::error_handler_t::replace);
  body.pop_back();
  body += R"(,"document":{"type":"document_url","document_name":)" +
          json(file.filename().string()).dump(-1, ' ', false, json::error_handler_t::replace) +
          R"(,"document_url":"data:application/octet-stream;base64,)";
  body += base::base64_encode(bytes);
  return body + R"("}})";
}

namespace fs = std::filesystem;
using nlohmann::json;
namespace {

bool write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  return static_cast<bool>(out.flush());
}

// Writes the pictures of one document by their ids into a folder of its own, because ids repeat between
// documents.
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

// Makes the markdown refer to the pictures' folder.
std::string with_image_folder(std::string markdown, const fs::path& folder) {
  const std::string prefix = "](" + folder.filename().string() + "/img-";
  for (std::size_t at = 0; (at = markdown.find("](img-", at)) != std::string::npos; at += prefix.size()) {
    markdown.replace(at, 6, prefix);
  }
  return markdown;
}

}  // namespace

int failed_pages(const json& result) {
  int count = 0;
  for (const json& page : result.value("pages", json::array())) count += page.contains("error") ? 1 : 0;
  return count;
}

std::vector<PartWarning> warnings_of(const json& result) {
  std::vector<PartWarning> warnings;
  for (const json& page : result.value("pages", json::array())) {
    for (const json& each : page.value("warnings", json::array())) {
      const std::string code = each.value("code", ""), message = each.value("message", "");
      const auto same = std::ranges::find(warnings, message, &PartWarning::message);
      const int number = page.value("index", 0) + 1;
      if (same == warnings.end()) {
        warnings.push_back({{number}, code, message});
      } else {
        same->parts.push_back(number);
      }
    }
  }
  return warnings;
}

base::Status write_output(const json& result, std::string markdown, const fs::path& output, bool images) {
  const base::Error failure = base::error(base::Code::kInternal, "cannot write " + output.string());
  std::error_code failed;
  fs::create_directories(output.parent_path(), failed);
  if (images) {
    for (const json& page : result.value("pages", json::array())) {
      if (!write_images(page, image_folder(output))) return failure;
    }
    markdown = with_image_folder(std::move(markdown), image_folder(output));
  }
  return write_whole(output, markdown);
}

}  // namespace millrace::cli
