#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::engines {

inline constexpr std::uint64_t kTokensBytesMax = std::uint64_t{64} << 20;  // of a model's tokens.txt

// The only content that a file may have.
struct KnownContent {
  std::uint64_t bytes = 0;
  std::string_view sha256;  // in hexadecimal
};

// Finds a file of a model that the speech engine could not load, or would load and then write wrong text
// with; the engine names no file. A network (.onnx, .ort) must have its format; an .onnx file that is cut off
// is found. `role` "tokens": each line must be a token and its number, and no number may be missing. Reads
// few bytes of a network. kInternal: what is wrong with which file.
base::Status check_model_file(std::string_view role, const std::string& path);

// kInternal: the file has another size. Reads nothing.
base::Status check_size(const std::string& path, const KnownContent& known);
// kInternal: the bytes of `fd`, which is a copy of `path` or the file itself, are others. Blocks: 60 MB take
// 50 to 300 ms.
base::Status check_sum(int fd, const std::string& path, const KnownContent& known);

}  // namespace millrace::engines
