#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "app/cli/client.h"

// Builds commands that are printed for people to paste.
namespace millrace::cli {

// `text` as one word of a shell command, quoted if necessary. The result never contains terminal control
// characters.
std::string shell_word(const std::string& text);

// "millrace" if the first program of that name on `path_variable` is the file `self`; otherwise `self` as a
// shell word.
std::string program_name(const std::filesystem::path& self, std::string_view path_variable);
// The same for this process.
std::string program();

// " --url … --data …": the options that select the same gateway. A key that was typed appears as the
// placeholder KEY.
std::string gateway_options(const ClientOptions& options);
// The same, with the output options.
std::string client_options(const ClientOptions& options);

// True if `url` is http or https and its host is exactly a loopback address or "localhost". Only then may
// this machine's key be sent to it, because the server runs on this machine. False in case of doubt.
bool is_local_gateway(std::string_view url);

// Why `url` is not valid as a gateway's address, as text for people. Empty: it is valid. HOST:PORT without a
// scheme is accepted, and so is a host with a dot, or localhost.
std::string url_problem(std::string_view url);

}  // namespace millrace::cli
