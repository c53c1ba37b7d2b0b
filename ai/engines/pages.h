#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/engine_end.h"
#include "platform/base/result.h"
#include "schemas/media.h"

namespace millrace::engines {

// What a look into a document, inside the jail, tells.
struct DocumentInfo {
  schemas::Media media = schemas::Media::kPdf;
  int pages = 0;
};

// A picture on a page; the box is in pixels of `PageOutcome::dimensions`.
struct PageImage {
  std::string id;  // unique in the document; the markdown names it as ![id](id)
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::string data_uri;  // data:image/jpeg;base64,…; empty unless asked for
};

struct PageDimensions {
  int dpi = 0;
  int height = 0;  // pixels at `dpi`
  int width = 0;
};

// One page, done or failed. A failed page has an error (kPageTimeout, kPageFailed) and nothing else.
struct PageOutcome {
  int index = 0;  // from 0, in the document
  std::string markdown;
  std::vector<PageImage> images;
  std::optional<PageDimensions> dimensions;
  std::optional<base::Error> error;
};

struct RecogniseOptions {
  bool image_data = false;  // fill PageImage::data_uri
};

}  // namespace millrace::engines
