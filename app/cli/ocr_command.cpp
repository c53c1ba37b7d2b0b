#include "app/cli/ocr_command.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/batch_work.h"
#include "app/cli/ocr_output.h"
#include "app/cli/ocr_upload.h"
#include "app/cli/program.h"

namespace millrace::cli {
namespace {

class OcrWork final : public BatchWork {
 public:
  explicit OcrWork(const OcrRequest& request) : request_(request) {}

  std::string command() const override { return "ocr"; }
  Words words() const override { return {}; }
  InputKinds kinds() const override {
    return {{".pdf", ".png", ".jpg", ".jpeg", ".webp"}, "PDF, PNG, JPEG or WebP", ".md"};
  }
  std::string text_member() const override { return "markdown"; }
  std::string stamp() const override {
    return request_.pages + "-" + request_.model + (request_.images ? "-images" : "");
  }
  std::string options() const override;
  base::Result<Upload> upload(const std::filesystem::path& file) const override;
  base::Result<Made> read(std::string body) const override;

 private:
  const OcrRequest& request_;
};

std::string OcrWork::options() const {
  std::string options;
  if (!request_.pages.empty()) options += " --pages " + shell_word(request_.pages);
  if (!request_.model.empty()) options += " --model " + shell_word(request_.model);
  if (request_.images) options += " --images";
  return options;
}

base::Result<BatchWork::Upload> OcrWork::upload(const std::filesystem::path& file) const {
  const auto bytes = read_document(file);
  if (!bytes) return bytes.error();
  return Upload{"/v1/ocr", "application/json", request_body(request_, file, *bytes)};
}

base::Result<BatchWork::Made> OcrWork::read(std::string body) const {
  auto result = std::make_shared<const nlohmann::json>(nlohmann::json::parse(body, nullptr, false));
  if (!result->is_object())
    return base::error(base::Code::kUpstream, "with something where the pages of a document are expected");
  Made made;
  made.text = markdown_of(*result);
  made.parts = result->value("usage_info", nlohmann::json::object()).value("pages_processed", 0);
  if (const int bad = failed_pages(*result); bad > 0)
    made.complaint = std::to_string(bad) + " pages could not be read";
  else if (made.text.find_first_not_of(" \n") == std::string::npos)
    made.complaint = "no text on " + std::string(made.parts == 1 ? "it" : "them");
  made.write = [result, images = request_.images](const std::filesystem::path& output) {
    return write_output(*result, output, images);
  };
  return made;
}

}  // namespace

int run_ocr(const OcrRequest& request, const ClientOptions& options) {
  if (request.output_folder.empty() && request.images)
    return misused("--images needs an output folder: -o DIR");
  return run_batch(request, OcrWork(request), options);
}

}  // namespace millrace::cli
