#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/speech/transcriber.h"
#include "workers/jobs/partitioned_run.h"
#include "workers/runner.h"
#include "workers/speech/provider_transcriber.h"
#include "workers/speech/stt_task.h"

namespace millrace::workers {

// Runs jobs of kind stt. The recording is inspected, then its pieces are recognised. A long recording is
// split into children of at most `range_pieces` pieces, which all workers can claim; the results are joined
// when the last child ends. Each piece is stored when it is done, so no later attempt repeats it. If a piece
// crashes its engine process, up to three attempts try it; the second and third send one piece per call. Then
// only this piece fails. A recording for a provider's model is one piece: it is sent whole, in one call.
class SttRunner final : public Runner {
 public:
  struct Options {
    int range_pieces = 8;
    std::chrono::milliseconds engine_time{120'000};  // stt.engine_time, added to the recording's length
    // US dollars, of a local model by its name; null: 0
    std::function<double(std::string_view model)> second_price = {};
    int shares_min = 1;  // children of a recording with enough pieces: how many run here in parallel
    // The recogniser of the local model of that name, with the language that it alone knows; `with_speakers`:
    // with the models that tell speakers apart. The error says why it cannot be used here. Null: all are
    // PocketSphinx.
    std::function<base::Result<engines::Recognition>(const std::string& name, bool with_speakers)>
        local_model = {};
  };
  // `engine` must outlive the runner's runs. `remote`: models of providers; null: there are none.
  SttRunner(engines::Transcriber& engine, Options options, std::unique_ptr<ProviderTranscriber> remote = {});

  std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) override;

 private:
  engines::Transcriber& engine_;
  std::unique_ptr<ProviderTranscriber> remote_;
  Options options_;
};

// The recognisers: the local engine and, if there are any, models of providers.
struct SttTranscribers {
  engines::Transcriber& local;
  const ProviderTranscriber* remote;
};

// One attempt at a transcription or translation.
class SttRun final : public PartitionedRun {
 public:
  SttRun(storage::ClaimedJob job, AttemptContext& context, SttTranscribers transcribers,
         SttRunner::Options options, Runner::Ended ended);
  void begin() override { open(); }

 private:
  void open();
  void opened(base::Result<SttTask> task);
  base::Status choose_model();
  bool is_text_model_usable() const;
  // The voices of the request's known speakers (stt_run_speakers.cpp), then `then`.
  void find_known_voices(std::function<void()> then);
  void find_next_voice();
  void open_reference(base::Result<std::shared_ptr<const engines::Recording>> reference);
  void find_voice(const std::shared_ptr<const engines::Recording>& reference,
                  const base::Result<engines::RecordingInfo>& info);
  void voice_found(const engines::EngineResult& end, const std::shared_ptr<engines::PieceOutcome>& found);
  // `embedding` is empty: the person gets no segment.
  void add_known_speaker(std::vector<float> embedding);
  std::string reference_field() const;  // of the current one
  void fail_reference(const std::string& what);
  void reference_failed(const base::Error& error);
  void reference_crashed();
  bool tells_speakers() const {
    return !task_.spec.by_provider && task_.spec.style.form == schemas::TranscriptFormat::kDiarizedJson;
  }
  void inspect();
  void inspected(base::Result<engines::RecordingInfo> info);
  void limit_time(std::int64_t recording_ms);
  void start_transcription(const std::vector<schemas::AudioPiece>& pieces);
  base::Result<Cancel> recognise(std::vector<int> pieces) override;
  double part_price(int piece) const override;
  void find_length();
  void transcribe_remotely();
  void request_remote_pages();
  void answered(base::Result<schemas::Transcript> transcript);
  void measure();
  void measured(const base::Result<engines::RecordingInfo>& info);
  void store_whole();
  void merge_parts() override;
  void concluded(base::Result<Transcribed> ended);
  base::Error time_error(std::chrono::milliseconds limit) const override;
  base::Error crash_error(int piece) const override;
  base::Error engine_error(base::Error error) const override;
  base::Error model_unusable(const base::Error& why, bool is_fault_of_speaker_files) const;
  std::string failed_part(int piece, const base::Error& error) const override;
  std::string_view input_field() const override { return schemas::kRecordingField; }
  void count(bool good) const override { context().metrics().stt_piece(good); }

  const SttTranscribers transcribers_;
  const SttRunner::Options options_;

  SttTask task_;
  engines::Recognition recognition_;           // of the local engine
  std::map<int, schemas::AudioPiece> pieces_;  // of this attempt, by number
  std::optional<double> seconds_;
  std::vector<schemas::KnownSpeaker> known_speakers_;  // those whose voices are found
  std::function<void()> after_known_voices_;
  std::string names_warning_;                   // names that cannot be given
  std::shared_ptr<schemas::Transcript> whole_;  // from a provider's model
};

}  // namespace millrace::workers
