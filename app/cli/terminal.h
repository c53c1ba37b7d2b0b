#pragma once

namespace millrace::cli {

// `fd` is a terminal that acts on what moves its cursor and sets its style: any whose TERM is neither "dumb"
// nor empty. Not while another thread sets the environment.
bool moves_cursor(int fd);

}  // namespace millrace::cli
