#pragma once
#include <memory>
#include <string>

#include "ai/engines/ocr/ocr_engine.h"
#include "api/media/page_pictures.h"
#include "app/components/engine_children.h"
#include "app/config/settings.h"
#include "platform/base/metrics.h"

namespace millrace::app {

// Renders pages of documents as pictures for the API: engine processes in a sandbox, started at the first
// request, at the lowest CPU priority (SCHED_IDLE). If they cannot run here, the API runs without them and
// its errors say why. Destroy it after the requests that use it.
class PictureComponent {
 public:
  // Blocks while it tests the sandbox.
  PictureComponent(const Settings& settings, base::Metrics& metrics);
  PictureComponent(const PictureComponent&) = delete;
  PictureComponent& operator=(const PictureComponent&) = delete;

  // The result must not be used after this object is destroyed.
  api::PagePictures pictures();

 private:
  std::unique_ptr<EngineChildren> children_;
  std::unique_ptr<engines::OcrEngine> engine_;
  std::string unavailable_reason_;
};

}  // namespace millrace::app
