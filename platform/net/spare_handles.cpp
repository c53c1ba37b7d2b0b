#include "platform/net/spare_handles.h"

#include <utility>

namespace millrace::net {

Easy SpareHandles::take(std::size_t buffer_bytes) {
  auto& spare = spare_[buffer_bytes];
  if (spare.empty()) return Easy(curl_easy_init());
  Easy easy = std::move(spare.back());
  spare.pop_back();
  return easy;
}

void SpareHandles::keep(Easy easy, std::size_t buffer_bytes) {
  auto& spare = spare_[buffer_bytes];
  if (!easy || spare.size() >= kKeptMax) return;
  curl_easy_reset(easy.get());
  spare.push_back(std::move(easy));
}

}  // namespace millrace::net
