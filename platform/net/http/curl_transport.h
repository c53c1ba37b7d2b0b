#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "platform/net/http/curl_transfer.h"

namespace millrace::net {

// Handles of curl that have done their request, for the next: making one anew costs as much as half of its
// options. By the size of the buffer that they hold, which a handle keeps. Loop thread only.
class SpareHandles {
 public:
  static constexpr std::size_t kKeptMax = 64;  // of one size

  Easy take(std::size_t buffer_bytes);  // as new
  void keep(Easy easy, std::size_t buffer_bytes);

 private:
  std::map<std::size_t, std::vector<Easy>> spare_;
};

}  // namespace millrace::net
