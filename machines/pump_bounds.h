#pragma once
#include <chrono>
#include <cstddef>

// What both pumps of a command's output hold to.
namespace millrace::machines {

// How long pipes may stay open when the jail or the ssh client is gone: another process can have been handed
// them.
inline constexpr std::chrono::milliseconds kDrainGrace{500};
inline constexpr std::size_t kPumpBufferBytes = std::size_t{128} << 10;  // one read

}  // namespace millrace::machines
