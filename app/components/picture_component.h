#pragma once
#include <memory>
#include <string>

#include "ai/engines/ocr/ocr_engine.h"
#include "api/media/picture_handlers.h"
#include "app/components/engine_children.h"
#include "app/config/settings.h"
#include "platform/base/metrics.h"

namespace millrace::app {

// Pictures of pages in a process with the API: jailed engine children, started when the first is asked for.
// They give way to all else on the machine. Where there can be none the API goes on without them, and says
// why. Goes after the requests that it draws for.
class PictureComponent {
 public:
  // Blocks for the trial of the jail.
  PictureComponent(const Settings& settings, base::Metrics& metrics);
  PictureComponent(const PictureComponent&) = delete;
  PictureComponent& operator=(const PictureComponent&) = delete;

  // Not to be called any more once this is gone.
  api::PagePictures pictures();

 private:
  std::unique_ptr<EngineChildren> children_;
  std::unique_ptr<engines::OcrEngine> engine_;
  std::string off_;
};

}  // namespace millrace::app
