#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/workers/worker_fixture.h"
#include "workers/speech/stt_run.h"

namespace millrace::workers {

// A fake recogniser that transcribes immediately. The script sets the number of pieces of a recording, and
// the pieces that fail or end the child process. Calls run on the caller's thread, and so do replies unless
// they are held.
class ScriptedListener final : public engines::Transcriber {
 public:
  base::Result<engines::EngineCallHandle> inspect(
      std::shared_ptr<const engines::Recording> recording, std::int64_t piece_ms_max,
      std::function<void(base::Result<engines::RecordingInfo>)> done) override;
  base::Result<engines::EngineCallHandle> transcribe(
      std::shared_ptr<const engines::Recording> recording, engines::Recognition how,
      std::vector<schemas::AudioPiece> wanted, std::function<void(engines::PieceOutcome)> on_piece,
      std::function<void(engines::EngineResult)> done) override;

  int pieces = 2;                        // of 30 s each
  std::set<int> killers;                 // pieces that end the child process each time
  std::map<int, base::Error> failing;    // pieces that fail
  std::map<int, std::string> languages;  // that the model detects in pieces
  std::optional<base::Error> refuses;    // an error of the recording itself
  // The voices that speak in pieces, and in the recordings of known speakers, which are longer than the
  // fixture's recording.
  std::map<int, std::vector<float>> voices;
  std::vector<float> known_voice;
  std::int64_t reference_ms = 5'000;
  std::optional<base::Error> reference_refused;  // by inspect
  std::optional<base::Error> reference_fails;    // by transcribe
  int reference_crashes = 0;                     // the calls for the voice that end the child process
  int reference_crashes_from = 0;                // the first of them
  std::atomic<bool> hangs{false};                // transcribe waits until it is cancelled
  std::atomic<int> hangs_at{-1};                 // the same at this piece

  int times_transcribed(int piece) const;
  int calls() const;
  int reference_calls() const;

 private:
  mutable std::mutex mutex_;
  std::map<int, int> heard_;
  int calls_ = 0;
  int reference_calls_ = 0;
};

// A worker that runs SttRunner with the scripted recogniser.
class SttFixture {
 public:
  // `deaths`: the number of attempts that die shortly before their end, after all parts are stored.
  explicit SttFixture(std::function<void(ScriptedListener&)> prepare = {}, SttRunner::Options options = {},
                      std::unique_ptr<ProviderTranscriber> remote = {}, int deaths = 0);

  schemas::JobId submit(schemas::TranscriptionSpec spec = {});
  // The transcript of a succeeded job.
  schemas::StoredTranscript transcript(const schemas::JobId& job);

  std::unique_ptr<ScriptedListener> listener;
  WorkerFixture fixture;
};

}  // namespace millrace::workers
