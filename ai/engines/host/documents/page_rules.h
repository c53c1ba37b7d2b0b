#pragma once
#include <chrono>
#include <map>
#include <string_view>
#include <vector>

#include "ai/engines/layout/grids.h"

namespace millrace::engines::host {

// The rules that the pages draw, in points from the top left corner of each page as it is seen: cropped and
// turned. Pages without rules are left out, and so are drawings, content that expands too far, and files that
// need to be repaired. Works in a copy of this process, because qpdf recurses as deep as the document says:
// pages that are not read within `cpu` are left out, too.
std::map<int, Rules> rules_of(std::string_view pdf, const std::vector<int>& pages,
                              std::chrono::milliseconds cpu);

}  // namespace millrace::engines::host
