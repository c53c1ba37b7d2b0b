#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/provider.h"
#include "platform/net/http/http_client.h"

// The list of models that a provider offers.
namespace millrace::providers {

struct ListedModel {
  std::string id, display_name, owned_by;  // the last two may be empty
  std::int64_t created = 0;                // Unix seconds; 0: not given
};
inline constexpr std::size_t kListedModelsMax = 10'000;
inline constexpr std::size_t kModelListBytesMax = 8u << 20;

// Requests one page of the largest possible size. REQUIRES: the family is not kMock.
net::HttpRequest model_list_request(const Target& target);
// kUpstream: `body` is not a list of models.
base::Result<std::vector<ListedModel>> read_model_list(const Target& target, std::string_view body);

}  // namespace millrace::providers
