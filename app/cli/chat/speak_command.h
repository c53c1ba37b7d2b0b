#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

struct SpeakArguments {
  std::vector<std::string> text;  // arguments; "-": standard input. None: standard input
  std::string output;             // a file; "-" or empty: standard output, unless it is a terminal
  std::string voice = "alloy";
  std::string format;  // empty: by the file's extension, else mp3
  std::string model = "millrace/flite";
  std::optional<double> speed;
};

// The format for a file's extension ("mp3", …). Empty: unknown extension.
std::string speech_format_of(const std::string& path);
// A streamed WAV has no lengths in its header: sets them.
void settle_wav_lengths(std::string& wav);

// `millrace speak`. Returns an ExitCode. An incomplete download leaves no file.
int run_speak(const SpeakArguments& arguments, ClientOptions options);

}  // namespace millrace::cli
