#pragma once
#include <cstdint>
#include <string>

namespace millrace::providers {

// A PNG of two colours and a pattern of blocks, all of them told by `seed`: the same seed and size give the
// same bytes. About width × height / 8 bytes.
std::string mock_png(int width, int height, std::uint64_t seed);

}  // namespace millrace::providers
