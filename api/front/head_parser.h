#pragma once
#include "api/front/framing.h"

namespace millrace::front {

// Gives a checked head to Pistache's request parser and takes the path and the version from it. False:
// Pistache does not accept it (400). Its typed header parsers (Accept, Cookie, Date, Host …) see nothing: a
// value they dislike is the application's to judge. Throws nothing.
bool parse_by_pistache(CheckedHead& head);

}  // namespace millrace::front
