#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "platform/net/http/curl_transfer.h"

namespace millrace::net {

// Used curl handles that are kept for later requests. Creating a handle costs half as much as setting its
// options. They are grouped by buffer size, because a handle keeps its buffer. Loop thread only.
class SpareHandles {
 public:
  static constexpr std::size_t kKeptMax = 64;  // per buffer size

  Easy take(std::size_t buffer_bytes);  // new or reset
  void keep(Easy easy, std::size_t buffer_bytes);

 private:
  std::map<std::size_t, std::vector<Easy>> spare_;
};

}  // namespace millrace::net
