#pragma once
#include <cstdint>

namespace millrace::schemas {

// What becomes of a worker's listener for the SSH of a machine.
enum class SshDoor : std::uint8_t {
  kServes,  // the machine is awake, and its endpoint is this worker's
  kNotYet,  // awake, and nobody's: the act that opens it may be under way here
  kOver,    // it is not awake, or a worker that lives has its endpoint: the listener ends
};

}  // namespace millrace::schemas
