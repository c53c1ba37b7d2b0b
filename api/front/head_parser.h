#pragma once
#include "api/front/framing.h"

namespace millrace::front {

// Parses the request line of a checked head with Pistache's request parser, and takes the path and the
// version from it. False: Pistache rejects it (400). Headers are not passed to Pistache: they were checked
// before, and its typed parsers (Accept, Cookie, Date, Host …) would reject values that the application may
// accept. Does not throw.
bool parse_by_pistache(CheckedHead& head);

}  // namespace millrace::front
