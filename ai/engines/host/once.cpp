#include "ai/engines/host/once.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "ai/engines/host/documents/reader.h"
#include "ai/engines/host/once_speech.h"
#include "ai/engines/ocr/document.h"

namespace millrace::engines::host {
namespace {

nlohmann::json json_of(const PageOutcome& page) {
  nlohmann::json value{
      {"index", page.index}, {"markdown", page.markdown}, {"images", nlohmann::json::array()}};
  for (const PageImage& image : page.images) {
    value["images"].push_back({{"id", image.id},
                               {"top_left_x", image.x0},
                               {"top_left_y", image.y0},
                               {"bottom_right_x", image.x1},
                               {"bottom_right_y", image.y1}});
    if (!image.data_uri.empty()) value["images"].back()["image_base64"] = image.data_uri;
  }
  if (page.dimensions) {
    const PageDimensions& size = *page.dimensions;
    value["dimensions"] = {{"dpi", size.dpi}, {"height", size.height}, {"width", size.width}};
  }
  for (const schemas::PageWarning& warning : page.warnings)
    value["warnings"].push_back({{"code", warning.code}, {"message", warning.message}});
  if (page.error) value["error"] = {{"code", base::name(page.error->code)}, {"message", page.error->message}};
  return value;
}

void print(const PageOutcome& page, bool json) {
  if (json) {
    std::cout << json_of(page).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else if (page.error) {
    std::cerr << "millrace-engine: page " << page.index << ": " << base::name(page.error->code) << ": "
              << page.error->message << '\n';
  } else {
    std::cout << page.markdown << "\n\n";
    for (const schemas::PageWarning& warning : page.warnings)
      std::cerr << "millrace-engine: page " << page.index << ": " << warning.message << '\n';
  }
}

// Pages arrive in the order of completion; they are printed in the order of the document.
class InOrder {
 public:
  InOrder(const std::vector<int>& pages, bool json) : waiting_(pages.begin(), pages.end()), json_(json) {
    std::sort(waiting_.begin(), waiting_.end());
  }
  void take(PageOutcome page) {
    failed_ = failed_ || page.error;
    done_.emplace(page.index, std::move(page));
    for (; next_ < waiting_.size() && done_.contains(waiting_[next_]); ++next_) {
      print(done_.at(waiting_[next_]), json_);
      done_.erase(waiting_[next_]);
    }
  }
  bool failed() const { return failed_; }

 private:
  std::vector<int> waiting_;
  std::size_t next_ = 0;
  std::map<int, PageOutcome> done_;
  bool json_;
  bool failed_ = false;
};

}  // namespace

int once(const OnceOptions& options) {
  base::Fd fd(::open(options.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(base::error(base::Code::kNotFound, "cannot read " + options.file));
  if (is_recording(fd)) return transcribe_once(std::move(fd), options.model, options.json);
  auto document = Document::from(std::move(fd), {});
  if (!document) return fail(document.error());
  const EngineLimits limits;
  process::Spawner spawner;
  const Tools tools(spawner, limits);
  Recogniser recogniser(limits, options.languages);
  DocumentReader reader(tools, limits, recogniser);
  base::Fd bytes(::fcntl((*document)->fd(), F_DUPFD_CLOEXEC, 0));
  if (auto status = reader.open(std::move(bytes), (*document)->media(), (*document)->size_bytes()); !status) {
    return fail(status.error());
  }
  auto count = reader.page_count();
  if (!count) return fail(count.error());
  std::vector<int> pages = options.pages;
  if (pages.empty()) {
    pages.resize(static_cast<std::size_t>(*count));
    std::iota(pages.begin(), pages.end(), 0);
  }
  InOrder printer(pages, options.json);
  const Sink sink{[](int) {}, [&printer](PageOutcome page) { printer.take(std::move(page)); }};
  if (auto status = reader.recognise(pages, {options.image_data}, sink); !status) return fail(status.error());
  return printer.failed() ? 3 : 0;
}

int check_languages(const std::string& languages) {
  const EngineLimits limits;
  const base::Status ready = Recogniser(limits, languages).ready();
  if (!ready) std::cerr << ready.error().message << '\n';
  return ready ? 0 : 1;
}

}  // namespace millrace::engines::host
