#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/workers/worker_fixture.h"
#include "workers/speech/stt_runner.h"

namespace millrace::workers {

// A recogniser that hears at once: the script says how many pieces a recording has, and which of them fail or
// end their child. Calls run on the caller's thread; replies come from there, too, unless held.
class ScriptedListener final : public Listener {
 public:
  base::Result<Cancel> inspect(RecordingPtr recording,
                               std::function<void(base::Result<engines::RecordingInfo>)> done) override;
  base::Result<Cancel> transcribe(RecordingPtr recording, std::vector<schemas::AudioPiece> wanted,
                                  std::function<void(engines::PieceOutcome)> on_piece,
                                  std::function<void(engines::EngineEnd)> done) override;

  int pieces = 2;                      // of 30 s each
  std::set<int> killers;               // pieces that end their child, each time
  std::map<int, base::Error> failing;  // pieces with an error
  std::optional<base::Error> refuses;  // the recording's own fault
  std::atomic<bool> hangs{false};      // transcribe waits for its cancel
  std::atomic<int> hangs_at{-1};       // the same once it comes to this piece

  int times_transcribed(int piece) const;
  int calls() const;

 private:
  mutable std::mutex mutex_;
  std::map<int, int> heard_;
  int calls_ = 0;
};

// A house whose worker runs SttRunner over the scripted listener.
class SttFixture {
 public:
  // `deaths`: so many attempts die when they are all but done, with every part stored.
  explicit SttFixture(std::function<void(ScriptedListener&)> prepare = {}, SttRunner::Options options = {},
                      std::unique_ptr<ProviderTranscriber> far = {}, int deaths = 0);

  schemas::JobId submit(schemas::TranscriptionSpec spec = {});
  // Of a job that succeeded.
  schemas::StoredTranscript transcript(const schemas::JobId& job);

  WorkerFixture fixture;
  ScriptedListener* listener = nullptr;
};

}  // namespace millrace::workers
