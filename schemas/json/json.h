#pragma once
#include <nlohmann/json.hpp>

#include "schemas/json/ordered_object.h"

namespace millrace::schemas {

// A JSON value whose objects keep the order of their members. Every tree that is passed on between client,
// provider, tool server and store has this type; nlohmann::json sorts the members.
using Json = nlohmann::basic_json<OrderedObject>;

}  // namespace millrace::schemas
