#pragma once
#include <memory>
#include <string>

#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/ocr_engine.h"
#include "platform/process/spawner.h"

namespace millrace::engines::testing {

// A document of these bytes, in an unlinked file that only its descriptor references.
base::Result<std::shared_ptr<const Document>> document_of(const std::string& bytes,
                                                          std::string owner = "acme");

struct Raster {
  std::string gray;
  int width = 0;
  int height = 0;
};
// The first page of a PDF as an 8-bit gray raster, and as the bytes of a PNG or JPEG file.
Raster raster_of(process::Spawner& spawner, const std::string& pdf, int dpi);
std::string picture_of(process::Spawner& spawner, const std::string& pdf, int dpi, const std::string& format);
Raster turned_right(const Raster& raster);

// The pid of a millrace-engine among the descendants of this process, or -1.
pid_t engine_child_of_this_process();
// Sends the signal to that process. False: there is none.
bool signal_engine_child(int signal);

// The path of this build's millrace-engine.
std::string engine_path();
// Limits for readings that must end on a slow, busy machine, where a page takes several times its processor
// time.
EngineLimits patient_limits();
// With `patient_limits`, and enough memory for a sanitizer's shadow.
EnginePool::Options engine_options();

}  // namespace millrace::engines::testing
