#pragma once
#include "ai/engines/pool.h"
#include "platform/base/result.h"

// Whether the local engines do their work: the whole way from here through the jail and back. Both block; the
// error says what stood in the way.
namespace millrace::app {

base::Status try_reading(engines::EnginePool& children);
base::Status try_hearing(engines::EnginePool& children);
base::Status try_speaking(engines::EnginePool& children);

}  // namespace millrace::app
