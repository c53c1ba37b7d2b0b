#pragma once
#include "api/front/framing.h"

namespace millrace::front {

// Gives the request line of a checked head to Pistache's request parser and takes the path and the version
// from it. False: Pistache does not accept it (400). It sees no header: all of them were checked here, and a
// value that its typed parsers (Accept, Cookie, Date, Host …) dislike is the application's to judge. Throws
// nothing.
bool parse_by_pistache(CheckedHead& head);

}  // namespace millrace::front
