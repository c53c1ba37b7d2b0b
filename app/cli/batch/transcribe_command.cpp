#include "app/cli/batch/transcribe_command.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/batch/batch_work.h"
#include "app/cli/chat/models_command.h"
#include "app/cli/json_cells.h"
#include "app/cli/program.h"
#include "app/cli/whole_file.h"
#include "schemas/form_body.h"
#include "schemas/media/audio_format.h"
#include "schemas/media/transcription.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kFormBytes = 2048;  // size of the form's other fields

class TranscribeWork final : public BatchWork {
 public:
  explicit TranscribeWork(const TranscribeArguments& request) : request_(request) {}

  std::string command() const override { return "transcribe"; }
  ProgressNouns nouns() const override { return {"recordings", "piece", "pieces", "transcribed"}; }
  InputKinds kinds() const override {
    return {{".flac", ".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".ogg", ".oga", ".opus", ".wav", ".webm"},
            "FLAC, MP3, MP4, M4A, MPEG, Ogg, WAV or WebM",
            ending(),
            {".aac", ".wma", ".amr", ".aif", ".aiff", ".caf", ".mka", ".mkv", ".mov", ".avi", ".3gp", ".m4b",
             ".ac3", ".au"},
            [](const std::string& head) { return schemas::detect_audio(head).has_value(); }};
  }
  std::string text_member() const override { return "text"; }
  std::string stamp() const override {
    return request_.format + "-" + request_.model + "-" + request_.language +
           (request_.translate ? "-translate" : "");
  }
  std::string options() const override;
  std::optional<ClientError> prepare(Client& client) const override;
  bool has_other_request(const ClientError& error) const override;
  base::Result<Upload> upload(const std::filesystem::path& file) const override;
  base::Result<ParsedResult> read(std::string body) const override;

 private:
  std::string ending() const {
    if (request_.format == "text") return ".txt";
    return request_.format.ends_with("json") ? ".json" : "." + request_.format;
  }

  const TranscribeArguments& request_;
  mutable std::string default_model_;      // set by `prepare`
  mutable bool is_model_guessed_ = false;  // without the gateway's list of models
};

std::string TranscribeWork::options() const {
  std::string options;
  if (request_.format != TranscribeArguments().format) options += " --format " + request_.format;
  if (!request_.model.empty()) options += " --model " + shell_word(request_.model);
  if (!request_.language.empty()) options += " --language " + shell_word(request_.language);
  if (request_.translate) options += " --translate";
  return options;
}

// The gateway's list has its default local model before its other ones. A key without the scope for it can
// still transcribe.
std::optional<ClientError> TranscribeWork::prepare(Client& client) const {
  if (!request_.model.empty() || !default_model_.empty()) return std::nullopt;
  const auto answer = client.request("GET", "/v1/models");
  if (!answer.ok) {
    constexpr int kForbidden = 403, kNoRoute = 404;
    if (answer.error.status != kForbidden && answer.error.status != kNoRoute) return answer.error;
    default_model_ = schemas::kMoonshineModel;
    is_model_guessed_ = true;
    return std::nullopt;
  }
  const auto models = answer.json->value("data", nlohmann::json::array());
  for (const nlohmann::json& model : models) {
    if (!model.is_object() || text_at(model, "provider") != "millrace" || !can(model, "transcription"))
      continue;
    default_model_ = text_at(model, "id");
    return std::nullopt;
  }
  default_model_ = schemas::kSphinxModel;  // the request tells what is wrong with it
  return std::nullopt;
}

// A gateway may have been set up without Moonshine's files.
bool TranscribeWork::has_other_request(const ClientError& error) const {
  if (!is_model_guessed_ || error.code != base::name(base::Code::kModelNotFound)) return false;
  is_model_guessed_ = false;
  default_model_ = schemas::kSphinxModel;
  return true;
}

base::Result<BatchWork::Upload> TranscribeWork::upload(const std::filesystem::path& file) const {
  const auto bytes =
      read_whole(file, static_cast<std::size_t>(schemas::kAudioBytesMax),
                 base::error(base::Code::kAudioTooLarge, "The recording is larger than 25 MB"));
  if (!bytes) return bytes.error();
  Upload upload;
  upload.path = request_.translate ? "/v1/audio/translations" : "/v1/audio/transcriptions";
  upload.body.reserve(bytes->size() + kFormBytes);
  schemas::FormBody form(upload.body);
  form.field("model", request_.model.empty() ? default_model_ : request_.model);
  form.field("response_format", request_.format);
  if (!request_.language.empty()) form.field("language", request_.language);
  if (request_.start.is_set()) form.field(request_.start.field(), request_.start.value());
  form.file("file", file.filename().string());
  upload.body += *bytes;
  form.end();
  upload.content_type = form.content_type();
  return upload;
}

// The gateway returns the transcript in the requested format.
base::Result<BatchWork::ParsedResult> TranscribeWork::read(std::string body) const {
  ParsedResult made;
  made.text = std::move(body);
  if (!made.text.empty() && !made.text.ends_with('\n')) made.text += '\n';
  made.write = [text = made.text](const std::filesystem::path& output) { return write_whole(output, text); };
  return made;
}

}  // namespace

int run_transcribe(const TranscribeArguments& request, const ClientOptions& options) {
  return run_batch(request, TranscribeWork(request), options);
}

}  // namespace millrace::cli
