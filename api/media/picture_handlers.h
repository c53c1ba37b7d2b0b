#pragma once
#include <functional>
#include <string>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"

namespace millrace::api {

// Who draws pages of documents in this process, and why not (app has the engine).
struct PagePictures {
  using Stop = std::function<void()>;  // ends the call soon, by `done`; no effect after it
  using Done = std::function<void(base::Result<std::string>)>;
  // The page (from 0) as the bytes of a small JPEG; `done` once, from any thread. kInvalidField: it is not in
  // the document. An error: it has not begun, `done` is not called. Blocks for a look at the file: pool.
  // Null: there is no engine here.
  std::function<base::Result<Stop>(storage::OpenFile document, int page, Done done)> draw = {};
  std::string off = {};  // for people: why `draw` is null
};

}  // namespace millrace::api
