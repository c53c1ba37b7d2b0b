#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "app/cli/client.h"

// Commands that are printed for people to paste.
namespace millrace::cli {

// `text` as one word of a shell command, in quotes if it needs them; never with what moves a cursor.
std::string shell_word(const std::string& text);

// "millrace" if the first of that name on `path_variable` is the file `self`, else `self` as a shell word.
std::string program_name(const std::filesystem::path& self, std::string_view path_variable);
// The same for this process.
std::string program();

// " --url … --data …": what leads to the same gateway; a key that was typed is asked for as KEY, never shown.
std::string gateway_options(const ClientOptions& options);
// The same, and how to print.
std::string client_options(const ClientOptions& options);

// True if `url` is http or https and its host, whole, is a loopback address or "localhost": what listens
// there is on this machine, so that it may be sent a key of this machine. Any doubt is a no.
bool is_local_gateway(std::string_view url);

// What is wrong with `url` as a gateway's address, for a person; empty: nothing. HOST:PORT alone will do, and
// so does a host with a dot, or localhost.
std::string url_problem(std::string_view url);

}  // namespace millrace::cli
