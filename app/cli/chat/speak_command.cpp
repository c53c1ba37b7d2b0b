#include "app/cli/chat/speak_command.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/chat/chat_command.h"
#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/partial_file.h"
#include "schemas/json/json_text.h"
#include "schemas/media/speech.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr const char* kSpeechPath = "/v1/audio/speech";
constexpr const char* kToStandardOutput = "-";
constexpr std::uint32_t kUnknownLength = 0xFFFF'FFFF;
constexpr std::size_t kWavHeadMax = 4096;

std::uint32_t little_endian_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  return value;
}

void put_length(std::string& bytes, std::size_t at) {
  const std::size_t rest = bytes.size() - at - 4;
  if (little_endian_at(bytes, at) != kUnknownLength || rest >= kUnknownLength) return;
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(rest >> (8 * i) & 0xFF);
}

bool is_standard_output(const SpeakArguments& arguments) {
  return arguments.output.empty() || arguments.output == kToStandardOutput;
}

// Returns kOk, or another exit code after printing the error.
int check_text(const std::string& text) {
  const std::size_t length = schemas::characters(text);
  if (length <= schemas::kSpeechCharactersMax) return kOk;
  return fail_usage("the text has " + std::to_string(length) + " characters; at most " +
                    std::to_string(schemas::kSpeechCharactersMax) + " are spoken per request");
}

int choose_format(const SpeakArguments& arguments, std::string& format) {
  format = arguments.format;
  if (!format.empty()) return kOk;
  format = is_standard_output(arguments) ? "mp3" : speech_format_of(arguments.output);
  if (!format.empty()) return kOk;
  return fail_usage("the ending of " + arguments.output +
                    " is not .mp3, .opus, .ogg, .aac, .flac, .wav or .pcm: set --format");
}

std::string speech_body(const SpeakArguments& arguments, const std::string& text, const std::string& format) {
  json body = {
      {"model", arguments.model}, {"input", text}, {"voice", arguments.voice}, {"response_format", format}};
  if (arguments.speed) body["speed"] = *arguments.speed;
  return local_json(body);
}

void print_spoken(const SpeakArguments& arguments, const ClientOptions& options, const net::HttpReply& head,
                  std::size_t bytes) {
  if (options.json) {
    std::cout << local_json({{"path", arguments.output},
                             {"bytes", bytes},
                             {"model", head.header("x-millrace-model")}})
              << '\n';
  }
  const std::string_view dropped = head.header("x-millrace-dropped-params");
  if (!dropped.empty() && !options.quiet) std::cerr << "millrace: not sent as requested: " << dropped << '\n';
}

int print_speech(Client& client, std::string body) {
  std::optional<CutOff> cut_off;
  const auto answer = client.request_bytes(kSpeechPath, std::move(body), [&](std::string_view bytes) {
    cut_off = print_whole(bytes);
    return !cut_off;
  });
  if (cut_off) return fail_cut_off(*cut_off);
  return answer.ok ? kOk : fail(answer.error);
}

int write_speech(Client& client, const SpeakArguments& arguments, std::string body, bool is_wav) {
  auto file = PartialFile::at(arguments.output);
  if (!file) return fail(file.error().message);
  bool written = true;
  std::size_t size = 0;
  std::string wav;
  const auto answer = client.request_bytes(kSpeechPath, std::move(body), [&](std::string_view bytes) {
    size += bytes.size();
    if (is_wav) wav.append(bytes);
    return written = is_wav || file->write(bytes);
  });
  if (!answer.ok && written) return fail(answer.error);
  settle_wav_lengths(wav);
  if (is_wav) file->write(wav);
  if (const base::Status finished = file->finish(); !finished) return fail(finished.error().message);
  print_spoken(arguments, client.options(), answer.reply, size);
  return kOk;
}

}  // namespace

std::string speech_format_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (ending == ".ogg" || ending == ".oga") return "opus";
  for (const auto encoding :
       {schemas::SpeechEncoding::kMp3, schemas::SpeechEncoding::kOpus, schemas::SpeechEncoding::kAac,
        schemas::SpeechEncoding::kFlac, schemas::SpeechEncoding::kWav, schemas::SpeechEncoding::kPcm}) {
    std::string name(schemas::name(encoding));
    if (ending == "." + name) return name;
  }
  return {};
}

void settle_wav_lengths(std::string& wav) {
  constexpr std::size_t kRiffLength = 4, kWords = 8;
  const std::size_t data = std::string_view(wav).substr(0, kWavHeadMax).find("data");
  if (!wav.starts_with("RIFF") || data == std::string::npos || wav.size() < data + kWords) return;
  put_length(wav, kRiffLength);
  put_length(wav, data + 4);
}

int run_speak(const SpeakArguments& arguments, ClientOptions options) {
  Interrupt interrupt;
  if (is_standard_output(arguments) && ::isatty(STDOUT_FILENO) == 1)
    return fail_usage("audio is not written to a terminal: choose a file with -o, such as -o out.mp3");
  std::string format, text;
  if (const int code = choose_format(arguments, format); code != kOk) return code;
  const std::vector<std::string> words =
      arguments.text.empty() ? std::vector<std::string>{"-"} : arguments.text;
  if (const int code = read_message(words, interrupt, text); code != kOk) return code;
  if (const int code = check_text(text); code != kOk) return code;
  Client client(std::move(options), &interrupt);
  std::string body = speech_body(arguments, text, format);
  if (is_standard_output(arguments)) return print_speech(client, std::move(body));
  return write_speech(client, arguments, std::move(body), format == "wav");
}

}  // namespace millrace::cli
