#pragma once
#include <string>
#include <vector>

// Who is at work in a data directory, by the locks that its processes hold. Both change nothing there, block
// shortly, and see processes of this pid namespace alone.
namespace millrace::app {

// Names of the workers that live, in order.
std::vector<std::string> live_workers(const std::string& data_dir);

// True if another process than this one has the store open.
bool is_served(const std::string& data_dir);

}  // namespace millrace::app
