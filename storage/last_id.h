#pragma once
#include <array>
#include <cstdint>

#include "platform/base/ids.h"

namespace millrace::storage {

// Inside storage: the id that no row's lies above, where a page of the newest begins.
inline base::Uuid last_id() {
  std::array<std::uint8_t, 16> bytes{};
  bytes.fill(0xFF);
  return base::Uuid(bytes);
}

}  // namespace millrace::storage
