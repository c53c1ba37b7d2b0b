#pragma once
#include <string>

#include "platform/base/result.h"
#include "storage/s3/client.h"

namespace millrace::s3 {

// Which store the objects below a prefix belong to: an object ".owner/NAME". Two stores below one prefix
// would remove each other's objects, because neither has the rows of the other. A copy of a store's database
// is another store, as long as its server is another one.
//
// Takes objects without an owner. kInvalidState: they belong to another store. Blocks.
base::Status claim_objects(Client& client, const std::string& owner);

// Makes `owner` the only owner, whoever it was. Blocks.
base::Status take_objects(Client& client, const std::string& owner);

}  // namespace millrace::s3
