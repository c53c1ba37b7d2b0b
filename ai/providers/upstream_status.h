#pragma once
#include <string_view>

namespace millrace::providers {

// The status that an error reply means, which is not always HTTP's: some providers answer 400 to a key that
// they do not know, and say so in a field. 401 (the key is wrong) and 403 (it may not) by the fields `code`,
// `type`, `status` and `reason` of the error, as each protocol has them; else `http_status`. Pure.
int meant_status(int http_status, std::string_view body);

}  // namespace millrace::providers
