#pragma once
#include <functional>
#include <string_view>

#include "api/call.h"
#include "api/context.h"
#include "platform/base/ids.h"

namespace millrace::api {

// Calls `take` with each line of an output that exists so far, until it fails. Blocks.
base::Status each_output_line(storage::Store& store, const base::Uuid& batch, bool is_error,
                              const std::function<base::Status(std::string_view line)>& take);

// Sends what exists of an output of a batch that is not over, if the file is one: the content of a file that
// grows. False: it is not, and nothing was sent. Blocks; runs on the pool.
bool send_partial_output(Context& context, const CallPtr& call, const base::Uuid& file);

}  // namespace millrace::api
