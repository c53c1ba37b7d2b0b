#include "ai/engines/host/once_speech.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "ai/engines/host/audio/listener.h"
#include "ai/engines/host/audio/model_recogniser.h"
#include "ai/engines/host/audio/model_voice.h"
#include "ai/engines/host/audio/recording_reader.h"
#include "ai/engines/host/audio/voice.h"
#include "ai/engines/speech/recording.h"
#include "ai/engines/speech/speech_engine_folder.h"
#include "schemas/media/document_type.h"
#include "schemas/media/transcription.h"

namespace millrace::engines::host {
namespace {

constexpr double kSpeedMin = 0.25;
constexpr double kSpeedMax = 4;
constexpr schemas::SpeechEncoding kEncodings[] = {
    schemas::SpeechEncoding::kMp3,  schemas::SpeechEncoding::kOpus, schemas::SpeechEncoding::kAac,
    schemas::SpeechEncoding::kFlac, schemas::SpeechEncoding::kWav,  schemas::SpeechEncoding::kPcm};

bool read_encoding(std::string_view text, schemas::SpeechEncoding& encoding) {
  for (const schemas::SpeechEncoding each : kEncodings) {
    if (schemas::name(each) != text) continue;
    encoding = each;
    return true;
  }
  return false;
}

bool read_speed(const std::string& text, double& speed) {
  char* end = nullptr;
  speed = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && speed >= kSpeedMin && speed <= kSpeedMax;
}

std::string_view flite_name(std::string_view voice) {
  const schemas::LocalVoice* known = schemas::local_voice(voice);
  return known == nullptr ? voice : known->voice;
}

// Collects the pieces in order, and whether one failed.
struct AllPieces {
  std::vector<schemas::TranscriptPiece> pieces;
  bool failed = false;
  void take(PieceOutcome outcome) {
    if (outcome.piece.error) {
      fail(*outcome.piece.error);
      failed = true;
    }
    pieces.push_back(std::move(outcome.piece));
  }
};

void print(const schemas::Transcript& transcript, bool json) {
  if (json) {
    const schemas::TranscriptStyle style{.form = schemas::TranscriptFormat::kVerboseJson, .words = true};
    std::cout << schemas::render(transcript, style) << '\n';
    return;
  }
  for (const schemas::TranscriptSegment& segment : transcript.segments) std::cout << segment.text << '\n';
}

}  // namespace

int fail(const base::Error& error) {
  std::cerr << "millrace-engine: " << base::name(error.code) << ": " << error.message << '\n';
  if (!error.details.empty()) std::cerr << "  the engine reports: " << error.details << '\n';
  return 1;
}

bool is_recording(const base::Fd& file) {
  char head[schemas::kAudioHeadBytes];
  const ssize_t count = ::pread(file.get(), head, sizeof head, 0);
  if (count <= 0) return false;
  const std::string_view bytes(head, static_cast<std::size_t>(count));
  return !schemas::detect_media(bytes) && schemas::detect_audio(bytes);
}

namespace {

std::string program_folder() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
}

// Opens the named model in `library`; without a name the default one if it is installed. False: PocketSphinx.
base::Result<bool> open_model(const std::string& name, SpeechLibrary& library) {
  if (name == schemas::kSphinxModel) return false;
  const std::string folder = find_speech_engine(program_folder());
  const auto model = loadable_model(folder, moonshine_model(folder));
  if (!model && name.empty()) {
    std::cerr << "millrace-engine: " << model.error().message << "; " << schemas::kSphinxModel
              << " is used\n";
    return false;
  }
  if (!model) return model.error();
  library.open((*model)->layout());
  for (const SpeechFile& file : (*model)->files()) library.add_file(file.role, file.path);
  return true;
}

}  // namespace

int transcribe_once(base::Fd file, const std::string& model, bool json) {
  auto recording = Recording::from(std::move(file), {});
  if (!recording) return fail(recording.error());
  const EngineLimits limits;
  process::Spawner spawner;
  const Tools tools(spawner, limits);
  SpeechLibrary library;
  SpeechRecogniser sphinx;
  SpeechAligner aligner;
  ModelRecogniser with_model(library, aligner, {.language = "en"});
  const auto has_model = open_model(model, library);
  if (!has_model) return fail(has_model.error());
  RecordingReader reader(tools, limits);
  base::Fd bytes(::fcntl((*recording)->fd(), F_DUPFD_CLOEXEC, 0));
  if (auto status = reader.open(std::move(bytes), (*recording)->format()); !status) {
    return fail(status.error());
  }
  auto info = reader.inspect_recording(*has_model ? kModelPieceMsMax : kPieceMsMax);
  if (!info) return fail(info.error());
  AllPieces all;
  const PieceSink sink{[](const schemas::AudioPiece&) {},
                       [&all](PieceOutcome outcome) { all.take(std::move(outcome)); }};
  PieceRecogniser& recogniser = *has_model ? static_cast<PieceRecogniser&>(with_model) : sphinx;
  if (auto status = reader.transcribe(info->pieces, recogniser, sink); !status) return fail(status.error());
  print(schemas::join(all.pieces, "english", static_cast<double>(info->ms) / 1000), json);
  return all.failed ? 3 : 0;
}

namespace {

// Speaks with the Piper voice in the folder task.voice.
base::Status speak_with_folder(SpeechTask task, const SynthesisCallbacks& sink) {
  const VoiceModel voice{"", task.voice, {"en"}};
  const auto loadable = loadable_voice(find_speech_engine(program_folder()), voice);
  if (!loadable) return loadable.error();
  SpeechLibrary library;
  library.open(loadable->model->layout());
  for (const SpeechFile& file : loadable->model->files()) library.add_file(file.role, file.path);
  task.is_english = true;
  return ModelVoice(library).synthesise(task, sink);
}

}  // namespace

int speak_once(const SpeechTask& task, const std::string& output) {
  std::ofstream file(output, std::ios::binary);
  const SynthesisCallbacks sink{[] {},
                                [&file](std::string_view bytes) {
                                  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
                                }};
  const bool is_folder = task.voice.starts_with('/');
  if (auto status = is_folder ? speak_with_folder(task, sink) : synthesise(task, sink); !status)
    return fail(status.error());
  file.close();
  if (!file) return fail(base::error(base::Code::kInternal, "cannot write " + output));
  return 0;
}

std::optional<bool> read_speech_option(std::string_view name, std::string_view value, SpeechTask& task) {
  if (name == "--speak") {
    task.text = value;
    return !value.empty();
  }
  if (name == "--voice") {
    task.voice = flite_name(value);
    return !task.voice.empty();
  }
  if (name == "--format") return read_encoding(value, task.encoding);
  if (name == "--speed") return read_speed(std::string(value), task.speed);
  return std::nullopt;
}

}  // namespace millrace::engines::host
