#include "ai/engines/speech/voice_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "ai/engines/speech/model_files.h"
#include "ai/engines/speech/onnx_metadata.h"

namespace millrace::engines {
namespace {

namespace fs = std::filesystem;

base::Error voice_error(std::string message) {
  return base::error(base::Code::kInternal, std::move(message));
}

// Without the metadata the engine ends its process.
base::Result<int> speakers_in(const std::string& model) {
  const auto metadata = onnx_metadata(model);
  if (!metadata) return metadata.error();
  for (const char* key : {"sample_rate", "n_speakers", "language", "comment"}) {
    if (!metadata->contains(std::string_view(key)))
      return voice_error("the model's file " + model + " has no " + key +
                         " in its metadata: it is not in sherpa-onnx's layout; docs/audio.md shows how to "
                         "convert a voice of Piper");
  }
  if (metadata->find(std::string_view("comment"))->second.find("piper") == std::string::npos)
    return voice_error("the model's file " + model + " is not a Piper voice (comment: " +
                       metadata->find(std::string_view("comment"))->second + ")");
  const std::string& text = metadata->find(std::string_view("n_speakers"))->second;
  int speakers = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), speakers);
  if (failed != std::errc() || speakers < 0 || speakers > kVoiceSpeakersMax)
    return voice_error("the model's file " + model + " has n_speakers " + text + " in its metadata");
  return std::max(1, speakers);
}

base::Result<std::string> whole_path(const std::string& folder, const std::string& name) {
  std::error_code failed;
  const fs::path file = fs::canonical(fs::path(folder) / name, failed);
  if (failed) return voice_error("the voice's file " + name + " in " + folder + ": " + failed.message());
  if (auto content = check_model_file(file.string()); !content) return content.error();
  return file.string();
}

// Empty: the folder has none.
base::Result<std::string> path_for(const char* pattern, const std::vector<std::string>& names,
                                   const std::string& folder) {
  const auto name = model_file_for(pattern, names, folder);
  if (!name) return name.error();
  if (!*name) return std::string();
  return whole_path(folder, **name);
}

}  // namespace

bool VoiceModel::is_english() const {
  return std::find(languages.begin(), languages.end(), "en") != languages.end();
}

base::Result<VoiceFiles> find_voice_files(const VoiceModel& voice) {
  const auto names = model_folder_names(voice.path);
  if (!names) return names.error();
  VoiceFiles files;
  struct Part {
    const char* pattern;
    std::string& path;
    bool is_required;
  };
  for (const Part& part : {Part{"*.onnx", files.model, true}, Part{"tokens.txt", files.tokens, true},
                           Part{"lexicon*.txt", files.lexicon, false}}) {
    auto path = path_for(part.pattern, *names, voice.path);
    if (!path) return std::move(path.error());
    if (path->empty() && part.is_required)
      return voice_error("the folder " + voice.path + " has no " + part.pattern + " of a Piper voice");
    part.path = *std::move(path);
  }
  if (files.lexicon.empty() && !voice.is_english())
    return voice_error("the folder " + voice.path +
                       " has no lexicon.txt, which voices of other languages than English need");
  std::error_code failed;
  if (!files.lexicon.empty() && fs::file_size(files.lexicon, failed) > kLexiconBytesMax)
    return voice_error("the voice's file " + files.lexicon + " has more than " +
                       std::to_string(kLexiconBytesMax >> 20) + " MiB");
  const auto speakers = speakers_in(files.model);
  if (!speakers) return speakers.error();
  files.speakers = *speakers;
  return files;
}

}  // namespace millrace::engines
