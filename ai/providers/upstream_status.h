#pragma once
#include <string_view>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"
#include "platform/base/result.h"

namespace millrace::providers {

// The status that an error reply means, which is not always HTTP's: some providers answer 400 to a key that
// they do not know, and say so in a field. 401 (the key is wrong) and 403 (it may not) by the fields `code`,
// `type`, `status` and `reason` of the error, as each protocol has them; else `http_status`. Pure.
int meant_status(int http_status, std::string_view body);

// Gives `error` the code that its provider says in a field, if clients know that one and it fits to the
// status, and a 400 also the field that it is about, unless that has a secret of `target`. `said`: the object
// with the fields. Pure.
void name_cause(const Target& target, base::Error& error, const Json& said);
void name_cause(const Target& target, base::Error& error, std::string_view body);

}  // namespace millrace::providers
