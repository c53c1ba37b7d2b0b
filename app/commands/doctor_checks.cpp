#include "app/commands/doctor_checks.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ai/engines/ocr/ocr_engine.h"
#include "ai/engines/speech/speaker.h"
#include "ai/engines/speech/transcriber.h"
#include "ai/providers/model_list.h"
#include "platform/base/bytes.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"
#include "platform/process/memory_file.h"
#include "storage/writer/lock_file.h"

namespace millrace::app {
namespace {

using namespace std::string_literals;

constexpr std::chrono::seconds kEngineWait{30};
constexpr std::size_t kSpokenMin = 32'000;  // half a second
constexpr std::int64_t kTrialMs = 1'400;    // of the spoken sentence

// A document of one page with one line that the engine must recognise.
constexpr std::string_view kTrialDocument =
    "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    "2 0 obj\n<< /Type /Pages /Count 1 /Kids [3 0 R] >>\nendobj\n"
    "3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 100] /Contents 4 0 R /Resources << /Font << "
    "/F1 << /Type "
    "/Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>\nendobj\n"
    "4 0 obj\n<< /Length 58 >>\nstream\nBT /F1 24 Tf 20 40 Td (Millrace doctor reads this) Tj ET "
    "\nendstream\nendobj\n"
    "trailer\n<< /Size 5 /Root 1 0 R >>\n%%EOF\n";

using Ending = std::promise<base::Status>;

base::Status ended_well(const engines::EngineResult& end) {
  using Kind = engines::EngineResult::Kind;
  if (end.kind == Kind::kDone) return {};
  return end.error.value_or(base::error(base::Code::kInternal, "the engine's process died"));
}

// Waits for the result of an engine call.
base::Status outcome(const base::Result<engines::EngineCallHandle>& ticket, std::future<base::Status> ended) {
  if (!ticket) return ticket.error();
  if (ended.wait_for(kEngineWait) == std::future_status::ready) return ended.get();
  ticket->cancel();
  return base::error(base::Code::kPageTimeout, "the engine did not answer within 30 s");
}

constexpr const char* kTrialSentence = "The water turns the wheel.";
constexpr const char* kTrialWord = "water";

schemas::SpeechRequest trial_sentence() {
  schemas::SpeechRequest request;
  request.model = schemas::kSpeechModel;
  request.input = kTrialSentence;
  request.voice = schemas::local_voices().front().name;
  request.encoding = schemas::SpeechEncoding::kWav;
  return request;
}

}  // namespace

base::Status check_ocr(engines::EnginePool& children) {
  engines::OcrEngine engine(children);
  auto file = process::memory_file(kTrialDocument);
  if (!file) return file.error();
  auto document = engines::Document::from(std::move(*file), {});
  if (!document) return document.error();
  auto markdown = std::make_shared<std::string>();
  auto ending = std::make_shared<Ending>();
  const auto ticket = engine.recognise(
      *document, {0}, {}, [markdown](const engines::PageOutcome& page) { *markdown += page.markdown; },
      [ending](const engines::EngineResult& end) { ending->set_value(ended_well(end)); });
  if (base::Status read = outcome(ticket, ending->get_future()); !read) return read;
  if (markdown->find("Millrace doctor") != std::string::npos) return {};
  return base::error(base::Code::kPageFailed,
                     "the engine read \"" + *markdown + "\" instead of a known line");
}

namespace {

using SpeakTrial = std::function<base::Result<engines::EngineCallHandle>(
    std::function<void(std::string)> on_audio, std::function<void(engines::EngineResult)> on_end)>;

base::Result<std::string> sound_of(const SpeakTrial& speak) {
  auto sound = std::make_shared<std::string>();
  auto ending = std::make_shared<Ending>();
  const auto ticket =
      speak([sound](const std::string& audio) { *sound += audio; },
            [ending](const engines::EngineResult& end) { ending->set_value(ended_well(end)); });
  if (base::Status spoken = outcome(ticket, ending->get_future()); !spoken) return spoken.error();
  if (sound->size() >= kSpokenMin) return *sound;
  return base::error(base::Code::kInternal, "a sentence was spoken as " +
                                                base::short_bytes(static_cast<std::int64_t>(sound->size())) +
                                                " of sound");
}

}  // namespace

base::Result<std::string> speak_sentence(engines::EnginePool& children) {
  return sound_of([&](auto on_audio, auto on_end) {
    return engines::Speaker(children).speak(trial_sentence(), std::move(on_audio), std::move(on_end));
  });
}

base::Result<std::string> speak_sentence(engines::EnginePool& children, engines::VoiceChoice voice) {
  return sound_of([&](auto on_audio, auto on_end) {
    return engines::Speaker(children).speak_with(std::move(voice), trial_sentence(), std::move(on_audio),
                                                 std::move(on_end));
  });
}

base::Status check_transcription(engines::EnginePool& children, const std::string& sentence,
                                 const TranscriptionTrial& trial) {
  engines::Transcriber engine(children);
  auto file = process::memory_file(sentence);
  if (!file) return file.error();
  auto recording = engines::Recording::from(std::move(*file), {});
  if (!recording) return recording.error();
  auto transcribed = std::make_shared<schemas::TranscriptPiece>();
  auto ending = std::make_shared<Ending>();
  const auto ticket = engine.transcribe(
      *recording, trial.how, {{0, 0, kTrialMs}},
      [transcribed](const engines::PieceOutcome& outcome) { *transcribed = outcome.piece; },
      [ending](const engines::EngineResult& end) { ending->set_value(ended_well(end)); });
  const auto for_operator = [&trial](const base::Error& error) {
    return base::error(error.code, engines::explained(error, trial.how));
  };
  if (base::Status ended = outcome(ticket, ending->get_future()); !ended) return for_operator(ended.error());
  if (transcribed->error) return for_operator(*transcribed->error);
  const bool needs_voice = trial.how.options.speakers == engines::SpeakerTask::kTellApart;
  if (needs_voice && transcribed->voices.empty())
    return base::error(base::Code::kInternal, "the models of stt.speakers found no voice in a sentence");
  const std::string text = schemas::text_of(*transcribed);
  if (!trial.knows_english || text.find(kTrialWord) != std::string::npos) return {};
  return base::error(base::Code::kInternal,
                     std::string("\"") + kTrialSentence + "\" was transcribed as \"" + text + "\"");
}

namespace {

constexpr std::chrono::milliseconds kConnect{2'000}, kTotal{5'000};

// Each server once; those of `providers` and of the environment first.
std::vector<const providers::Target*> servers(const inference::ModelSettings& models) {
  std::vector<const providers::Target*> out;
  const auto add = [&](const providers::Target& target) {
    const auto same = [&](const providers::Target* other) {
      return other->base_url == target.base_url && other->preset == target.preset;
    };
    if (target.preset->family != providers::Family::kMock && std::ranges::none_of(out, same))
      out.push_back(&target);
  };
  for (const providers::Target& target : models.open_providers) add(target);
  for (const inference::ModelRow& row : models.models) add(row.target);
  return out;
}

base::Result<std::size_t> count_models(net::HttpClient& client, const providers::Target& target) {
  net::HttpRequest request = providers::model_list_request(target);
  request.connect_timeout = kConnect;
  request.total_timeout = kTotal;
  auto reply = client.fetch_blocking(std::move(request));
  if (!reply) return reply.error();
  if (reply->status != 200)
    return providers::upstream_error(target, reply->status, reply->headers, reply->body);
  const auto list = providers::read_model_list(target, reply->body);
  if (!list) return list.error();
  return list->size();
}

std::string place(const providers::Target& target) {
  return std::string(target.preset->name) + " at " + target.base_url + ": ";
}

ProviderFinding check(net::HttpClient& client, const providers::Target& target) {
  const auto count = count_models(client, target);
  if (count) return {place(target) + std::to_string(*count) + " models", {}};
  return {place(target) + count.error().message, "Correct its api_key, its base_url or the network."};
}

}  // namespace

std::vector<ProviderFinding> check_providers(const inference::ModelSettings& models) {
  net::Loop loop("doctor");
  net::HttpClient client(loop);
  std::vector<ProviderFinding> out;
  const auto named = servers(models);
  out.reserve(named.size() + 1);
  for (const providers::Target* target : named) out.push_back(check(client, *target));
  providers::Target ollama;
  ollama.preset = providers::preset_named("ollama");
  ollama.base_url = ollama.preset->base_url;
  const bool known = std::ranges::any_of(
      named, [&](const providers::Target* target) { return target->base_url == ollama.base_url; });
  const auto count = known ? base::Result<std::size_t>(0) : count_models(client, ollama);
  if (!known && count) {
    out.push_back({place(ollama) + std::to_string(*count) + " models, not configured",
                   "`providers: {ollama: {}}` in the configuration offers them as ollama/NAME."});
  }
  return out;
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kLockSuffix = ".lock";

// Does not create a missing lock file.
bool is_held(const std::string& path) {
  if (::access(path.c_str(), R_OK | W_OK) != 0) return false;
  const auto lock = storage::LockFile::open(path);
  return lock && !lock->visible_holders().empty();
}

}  // namespace

std::vector<std::string> live_workers(const std::string& data_dir) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator at(data_dir + "/workers", error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() == kLockSuffix && is_held(path.string())) names.push_back(path.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_served(const std::string& data_dir) { return is_held(data_dir + "/locks/schema.lock"); }

}  // namespace millrace::app
