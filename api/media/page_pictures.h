#pragma once
#include <functional>
#include <string>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"

namespace millrace::api {

// The function that renders pages of documents in this process; app owns the engine.
struct PagePictures {
  using Stop =
      std::function<void()>;  // cancels the rendering, which then calls `done`; no effect after `done`
  using Done = std::function<void(base::Result<std::string>)>;
  // Renders the page (from 0) of the tenant's document as a small JPEG. `done` runs once, on any thread;
  // kInvalidField: the document has no such page. If `draw` returns an error, rendering was not started and
  // `done` is not called. Blocks while it opens the file; runs on the pool. Null: this process has no engine.
  std::function<base::Result<Stop>(const std::string& tenant, storage::OpenFile document, int page,
                                   Done done)>
      draw = {};
  std::string off = {};  // error message: why `draw` is null
};

}  // namespace millrace::api
