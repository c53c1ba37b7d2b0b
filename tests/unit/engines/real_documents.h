#pragma once
#include <memory>
#include <string>

#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/ocr_engine.h"
#include "platform/process/spawner.h"

namespace millrace::engines::testing {

// A document of these bytes (an unlinked file that only its descriptor names).
base::Result<std::shared_ptr<const Document>> document_of(const std::string& bytes);

struct Raster {
  std::string gray;
  int width = 0;
  int height = 0;
};
// The first page of a PDF as 8-bit gray, and as a PNG file's or JPEG file's bytes.
Raster raster_of(process::Spawner& spawner, const std::string& pdf, int dpi);
std::string picture_of(process::Spawner& spawner, const std::string& pdf, int dpi, const std::string& format);
Raster turned_right(const Raster& raster);

// The millrace-engine that some descendant of this process is, or -1.
pid_t engine_child_of_this_process();

// millrace-engine of this build.
std::string engine_path();
// Bounds that a sanitizer's shadow memory survives.
EnginePool::Options engine_options();

}  // namespace millrace::engines::testing
