#include "app/client_audio_commands.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/cli/speak_command.h"
#include "app/client_options.h"
#include "schemas/speech.h"

namespace millrace::app {
namespace {

void add_speak(CLI::App& app, int& exit_code) {
  CLI::App* speak = app.add_subcommand("speak", "Says a text: a sound file, while it is made");
  auto wish = std::make_shared<cli::SpeakWish>();
  speak->add_option("text", wish->text, "What to say; - for standard input (default: standard input)");
  speak->add_option("-o,--output", wish->output,
                    "File; its ending names the format (default: standard output)");
  speak->add_option("--voice", wish->voice, "alloy, nova, onyx, … or one of a provider's (default: alloy)");
  speak
      ->add_option("--format", wish->format,
                   "mp3, opus, aac, flac, wav or pcm (default: by the ending, or mp3)")
      ->check(CLI::IsMember({"mp3", "opus", "aac", "flac", "wav", "pcm"}));
  speak->add_option("--speed", wish->speed, "0.25 to 4 (default: 1)")
      ->check(CLI::Range(schemas::kSpeechSpeedMin, schemas::kSpeechSpeedMax));
  speak->add_option("-m,--model", wish->model, "Model (default: the local one)");
  auto options = add_client_options(*speak);
  speak->footer("At most 4,096 characters at a time. pcm is 24 kHz, 16 bit, mono, little-endian.");
  speak->callback([=, &exit_code] { exit_code = cli::run_speak(*wish, *options); });
}

}  // namespace

void add_audio_client_commands(CLI::App& app, int& exit_code) { add_speak(app, exit_code); }

}  // namespace millrace::app
