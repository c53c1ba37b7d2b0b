#pragma once
#include <string>

namespace millrace::app {

// Whether a gateway has made its store in `data_dir`. True as well where that cannot be seen, and where its
// database is lost: then opening it says why.
bool holds_store(const std::string& data_dir);

}  // namespace millrace::app
