#include "app/components/picture_component.h"

#include <utility>

#include "platform/base/log.h"
#include "workers/payload.h"

namespace millrace::app {
namespace {

using api::PagePictures;
using std::chrono::milliseconds;

constexpr int kPictureSide = 1000;               // pixels: about 100 KB with legible text
constexpr std::size_t kPicturesWaitingMax = 64;  // one tenant alone can have half of them
constexpr milliseconds kDrawAgain{2'000};
// A person waits for the picture: work that a sound page never needs ends early.
constexpr milliseconds kDrawCpu{5'000};
constexpr milliseconds kDrawWall{60'000};

engines::EnginePool::Options picture_options(const Settings& settings) {
  engines::EnginePool::Options options;
  options.children = static_cast<unsigned>(settings.picture_children);
  options.queue_max = kPicturesWaitingMax;
  options.limits.page_cpu = kDrawCpu;
  options.limits.poppler_cpu = kDrawCpu;
  options.limits.page_wall = kDrawWall;
  options.jail.unjailed = settings.ocr_unjailed;
  return options;
}

base::Error draw_later(std::string why) {
  base::Error error = base::error(base::Code::kOverloaded, std::move(why));
  error.retry_after = kDrawAgain;
  return error;
}

// Internal errors become a retryable error: the machine is busy, or this process is ending.
base::Result<std::string> retryable(base::Result<std::string> drawn) {
  using base::Code;
  if (drawn || (drawn.error().code != Code::kInternal && drawn.error().code != Code::kJobCancelled)) {
    return drawn;
  }
  return draw_later("The page cannot be rendered now: the host is busy; retry");
}

base::Result<PagePictures::Stop> draw(engines::OcrEngine& engine, const std::string& tenant,
                                      const storage::OpenFile& file, int page, PagePictures::Done done) {
  auto own = workers::duplicate_descriptor(file);
  if (!own) return own.error();
  auto document = engines::Document::from(*std::move(own), tenant);
  if (!document) return document.error();
  auto ticket = engine.draw(
      *std::move(document), page, kPictureSide,
      [done = std::move(done)](base::Result<std::string> drawn) { done(retryable(std::move(drawn))); });
  if (!ticket) return draw_later("Too many page images are requested at once; retry");
  return PagePictures::Stop([ticket = *std::move(ticket)] { ticket.cancel(); });
}

}  // namespace

PictureComponent::PictureComponent(const Settings& settings, base::Metrics& metrics) {
  if (settings.picture_children == 0) {
    unavailable_reason_ = "Page images are off (pictures.children is 0)";
    return;
  }
  auto opened =
      EngineChildren::open(picture_options(settings), {"pictures", "page images are not available"}, metrics);
  if (!opened) {
    base::log_warn("pictures_disabled", {{"reason", opened.error().message}});
    unavailable_reason_ = "Pages cannot be rendered on this host; `millrace doctor` shows the reason";
    return;
  }
  children_ = *std::move(opened);
  engine_ = std::make_unique<engines::OcrEngine>(children_->pool());
}

PagePictures PictureComponent::pictures() {
  PagePictures out;
  out.off = unavailable_reason_;
  if (!engine_) return out;
  out.draw = [&engine = *engine_](const std::string& tenant, const storage::OpenFile& file, int page,
                                  PagePictures::Done done) {
    return draw(engine, tenant, file, page, std::move(done));
  };
  return out;
}

}  // namespace millrace::app
