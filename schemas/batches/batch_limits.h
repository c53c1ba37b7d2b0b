#pragma once
#include <chrono>
#include <cstdint>

namespace millrace::schemas {

// The operator's bounds of batches (settings `batches.*`).
struct BatchLimits {
  int open_max = 100;                          // open batches of one tenant; 429
  int lines_max = 50'000;                      // of one input; the batch fails
  std::int64_t input_bytes_max = 200LL << 20;  // of one input; 413
  std::int64_t line_bytes_max = 16LL << 20;    // of one line; the batch fails
  int window = 512;                            // lines of one batch that are jobs at a time
  int direct = 8;                              // lines of one batch that are answered directly at a time
  std::chrono::milliseconds age = std::chrono::hours(24) * 30;  // a batch is kept so long after its end
};

}  // namespace millrace::schemas
