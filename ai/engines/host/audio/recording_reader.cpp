#include "ai/engines/host/audio/recording_reader.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "ai/engines/host/audio/loudness.h"
#include "ai/engines/host/tool.h"

namespace millrace::engines::host {
namespace {

using base::Code;
using schemas::AudioPiece;

// Cuts the samples of a recording into its pieces.
class PieceCutter {
 public:
  using Whole = std::function<bool(const AudioPiece&, std::span<const std::int16_t>)>;

  // `whole` is called for each complete piece, in the order of their beginnings. It returns whether to
  // continue.
  PieceCutter(const std::vector<AudioPiece>& pieces, Whole whole)
      : pieces_(pieces), whole_(std::move(whole)) {}

  // False: no more samples are needed.
  bool take(std::span<const std::int16_t> samples) {
    while (next_ < pieces_.size()) {
      const AudioPiece& piece = pieces_[next_];
      const std::int64_t first = std::max(piece.start_ms * kSamplesPerMs, at_);
      const std::int64_t last = piece.end_ms * kSamplesPerMs;
      const std::int64_t end = at_ + static_cast<std::int64_t>(samples.size());
      if (first < std::min(last, end)) keep(samples, first - at_, std::min(last, end) - first);
      if (last > end) break;
      if (!finish()) return false;
    }
    at_ += static_cast<std::int64_t>(samples.size());
    return next_ < pieces_.size();
  }
  // The recording has ended: pieces that have begun end here.
  void end() {
    while (next_ < pieces_.size() && finish()) {
    }
  }

 private:
  void keep(std::span<const std::int16_t> samples, std::int64_t from, std::int64_t count) {
    const auto part = samples.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count));
    kept_.insert(kept_.end(), part.begin(), part.end());
  }
  bool finish() {
    const bool go_on = whole_(pieces_[next_++], kept_);
    kept_.clear();
    return go_on;
  }

  const std::vector<AudioPiece>& pieces_;
  Whole whole_;
  std::vector<std::int16_t> kept_;
  std::int64_t at_ = 0;
  std::size_t next_ = 0;
};

// The decoded length may be slightly below the declared one: encoders pad and count in frames.
constexpr double kDeclaredPart = 0.98;
constexpr double kDeclaredSlack = 0.5;  // seconds

double seconds_of(std::int64_t samples) { return static_cast<double>(samples) / kSampleRate; }

bool is_cut_off(const Decoder::DeclaredLength& declared, std::int64_t samples) {
  return declared && seconds_of(samples) < declared->count() * kDeclaredPart - kDeclaredSlack;
}

base::Error cut_off(std::chrono::duration<double> declared, std::int64_t samples) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "the recording is cut off: %.1f of its %.1f seconds are present",
                seconds_of(samples), declared.count());
  return base::error(Code::kAudioDamaged, text.data());
}

}  // namespace

namespace {

bool is_not_the_pieces_fault(const base::Error& error) {
  return error.code == Code::kInternal || error.code == Code::kOverloaded;
}

}  // namespace

base::Status RecordingReader::open(base::Fd fd, schemas::AudioFormat format) {
  decoder_.reset();
  if (!fd) return base::error(Code::kInternal, "the recording cannot be copied into its jail");
  file_ = std::move(fd);
  decoder_.emplace(tools_, limits_, file_.get(), format);
  return {};
}

base::Result<RecordingInfo> RecordingReader::inspect_recording(std::int64_t piece_ms_max) {
  const auto declared = decoder_->look();
  if (!declared) return declared.error();
  Loudness loudness;
  auto count = decoder_->decode([&loudness](std::span<const std::int16_t> samples) {
    loudness.feed(samples);
    return true;
  });
  if (!count) return std::move(count.error());
  if (is_cut_off(*declared, *count)) return cut_off(**declared, *count);
  RecordingInfo info;
  info.ms = std::max<std::int64_t>(1, *count / kSamplesPerMs);
  info.pieces = cut_at_pauses(loudness.levels(), info.ms, piece_ms_max);
  return info;
}

PieceOutcome RecordingReader::not_recognised(const AudioPiece& piece, const base::Error& why) {
  PieceOutcome outcome;
  outcome.index = piece.index;
  outcome.piece.error = base::error(Code::kPieceFailed, why.message);
  return outcome;
}

base::Result<PieceOutcome> RecordingReader::recognise(PieceRecogniser& recogniser, const AudioPiece& piece,
                                                      std::span<const std::int16_t> samples) {
  PieceOutcome outcome;
  outcome.index = piece.index;
  if (samples.empty()) {
    outcome.piece.error = base::error(Code::kPieceFailed, "the recording ends before this piece");
    return outcome;
  }
  Loudness loudness;
  loudness.feed(samples);
  PieceSound sound{samples, loudness.levels(), piece.start_ms};
  if (is_silence(sound.levels)) return outcome;
  auto recognised = recogniser.recognise(sound);
  if (!recognised && is_not_the_pieces_fault(recognised.error())) return std::move(recognised.error());
  if (!recognised) {
    outcome.piece.error = std::move(recognised.error());
  } else {
    outcome.piece = *std::move(recognised);
  }
  return outcome;
}

base::Status RecordingReader::transcribe(std::vector<AudioPiece> pieces, PieceRecogniser& recogniser,
                                         const PieceSink& sink) {
  if (pieces.empty()) return {};
  std::sort(pieces.begin(), pieces.end(),
            [](const AudioPiece& a, const AudioPiece& b) { return a.start_ms < b.start_ms; });
  base::Status status;
  std::size_t done = 0;
  sink.begin(pieces.front());
  PieceCutter cutter(pieces, [&](const AudioPiece& piece, std::span<const std::int16_t> samples) {
    auto outcome = recognise(recogniser, piece, samples);
    if (!outcome) {
      status = std::move(outcome.error());
      return false;
    }
    sink.piece(std::move(*outcome));
    if (++done < pieces.size()) sink.begin(pieces[done]);
    return true;
  });
  auto count = decoder_->decode([&](std::span<const std::int16_t> samples) { return cutter.take(samples); });
  if (!status) return status;
  if (!count && done == 0) return std::move(count.error());
  if (count) {
    cutter.end();
  } else {  // a piece that was not decoded completely is not recognised
    for (; done < pieces.size(); ++done) sink.piece(not_recognised(pieces[done], count.error()));
  }
  return status;
}

}  // namespace millrace::engines::host
