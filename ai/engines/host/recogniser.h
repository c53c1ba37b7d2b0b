#pragma once
#include <memory>
#include <vector>

#include "ai/engines/host/pixels.h"
#include "ai/engines/limits.h"
#include "ai/engines/page_text.h"
#include "platform/base/result.h"

namespace tesseract {
class TessBaseAPI;
}

namespace millrace::engines::host {

struct Recognised {
  PageText text;             // in pixels of the upright page as it was given (not of the scaled copy)
  std::vector<Box> figures;  // pictures, in the same pixels
  int confidence = 0;        // of the words on the average, 0 to 100
};

// One Tesseract instance, made at the first page (55 ms) and kept.
class Recogniser {
 public:
  explicit Recogniser(const EngineLimits& limits);
  ~Recogniser();
  Recogniser(const Recogniser&) = delete;
  Recogniser& operator=(const Recogniser&) = delete;

  // kPageTimeout: `page_cpu` or `page_wall` passed. kPageFailed: the picture cannot be worked on. kInternal:
  // no model.
  base::Result<Recognised> recognise(const Prepared& prepared);

 private:
  base::Status ready();
  base::Status run(const Prepared& prepared);
  base::Error late(bool by_cpu) const;
  void collect(const Prepared& prepared, Recognised& result);

  const EngineLimits& limits_;
  std::unique_ptr<tesseract::TessBaseAPI> api_;
};

}  // namespace millrace::engines::host
