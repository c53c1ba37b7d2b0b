#pragma once
#include <array>
#include <cstdint>

#include "platform/base/ids.h"

namespace millrace::storage {

// Inside storage: the largest possible id, from which a page of the newest rows starts.
inline base::Uuid last_id() {
  std::array<std::uint8_t, 16> bytes{};
  bytes.fill(0xFF);
  return base::Uuid(bytes);
}

}  // namespace millrace::storage
