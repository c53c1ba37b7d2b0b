#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

struct SpeakArguments {
  std::vector<std::string> text;  // words; "-": standard input. None: standard input
  std::string output;             // a file; "-" or empty: standard output, if it is no terminal
  std::string voice = "alloy";
  std::string format;  // empty: by the file's ending, else mp3
  std::string model = "millrace/flite";
  std::optional<double> speed;
};

// "mp3", … by the ending of a file's name; empty: there is no such format.
std::string speech_format_of(const std::string& path);
// A wav that was made as a stream says no lengths in its head: puts them in.
void settle_wav_lengths(std::string& wav);

// `millrace speak`; returns an ExitCode. What is broken off leaves no file.
int run_speak(const SpeakArguments& wish, ClientOptions options);

}  // namespace millrace::cli
