#pragma once
#include <string>
#include <vector>

#include "api/front/exchange.h"
#include "platform/base/ip_address.h"

namespace millrace::front {

// The client of a request that came from the trusted proxy `peer`: the rightmost address in X-Forwarded-For,
// or else in Forwarded (RFC 7239), that is not a trusted proxy. If all are, or an entry is no address, the
// last one before it counts.
std::string forwarded_client(const Head& head, const std::string& peer,
                             const std::vector<base::IpRange>& trusted);

}  // namespace millrace::front
