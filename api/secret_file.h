#pragma once
#include <functional>
#include <string>

#include "platform/base/result.h"

namespace millrace::api {

// The text of a 0600 file that is made once. If `path` is missing it is written with what `make` gives,
// complete and on disk before it has its name, so that of several processes that start at once one wins and
// all read the same. Blocks. Errors name the path: they are for the operator, never for a client.
base::Result<std::string> secret_file(const std::string& path, const std::function<std::string()>& make);

// DATA/pepper: the key of every HMAC over an API key, made on the first start. Without it no stored key
// works.
base::Result<std::string> pepper(const std::string& data_dir);

// DATA/secret.key: what is encrypted at rest is sealed under it. 32 bytes, made on the first use.
base::Result<std::string> secret_key(const std::string& data_dir);

}  // namespace millrace::api
