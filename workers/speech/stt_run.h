#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workers/jobs/partitioned_run.h"
#include "workers/speech/stt_runner.h"
#include "workers/speech/stt_task.h"

namespace millrace::workers {

// The recognisers: the local engine and, if there are any, models of providers.
struct SttTranscribers {
  PieceTranscriber& local;
  const ProviderTranscriber* remote;
};

// One attempt at a transcription or translation.
class SttRun final : public PartitionedRun {
 public:
  SttRun(storage::Claimed job, AttemptContext& context, SttTranscribers listeners, SttRunner::Options options,
         Runner::Ended ended);
  void begin() override { open(); }

 private:
  void open();
  void opened(base::Result<SttTask> task);
  void inspect();
  void inspected(base::Result<engines::RecordingInfo> info);
  void start_transcription(const std::vector<schemas::AudioPiece>& pieces);
  base::Result<Cancel> recognise(std::vector<int> pieces) override;
  void transcribe_remotely();
  void request_remote_pages();
  void answered(base::Result<schemas::Transcript> transcript);
  void measure();
  void measured(const base::Result<engines::RecordingInfo>& info);
  void store_whole();
  void merge_parts() override;
  void concluded(base::Result<Transcribed> ended);
  base::Error crash_error(int piece) const override;
  std::string failed_part(int piece, const base::Error& error) const override;
  std::string_view input_field() const override { return schemas::kRecordingField; }
  void count(bool good) const override { context().metrics().stt_piece(good); }

  const SttTranscribers transcribers_;
  const SttRunner::Options options_;

  SttTask task_;
  std::map<int, schemas::AudioPiece> pieces_;  // of this attempt, by number
  std::optional<double> seconds_;
  std::shared_ptr<schemas::Transcript> whole_;  // from a provider's model
};

}  // namespace millrace::workers
