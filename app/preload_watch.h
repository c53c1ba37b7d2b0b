#pragma once

namespace millrace::app {

// A library in LD_PRELOAD may wait for the memory allocator while the allocator waits for the library, before
// main begins. With LD_PRELOAD, a start that does not reach this call within 10 s ends with an error that
// says so. Call it first in main.
void end_preload_watch();

}  // namespace millrace::app
