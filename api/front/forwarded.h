#pragma once
#include <string>
#include <vector>

#include "api/front/exchange.h"
#include "api/front/server.h"
#include "platform/base/ip_address.h"

namespace millrace::front {

// The client of a request that came from the trusted proxy `peer`: the rightmost address in `from` that is
// not a trusted proxy. If all are, or an entry is no address, the last one before it counts. The other header
// is ignored: the proxies may pass on what the client sent in it.
std::string forwarded_client(const Head& head, const std::string& peer,
                             const std::vector<base::IpRange>& trusted, ForwardedHeader from);

}  // namespace millrace::front
