#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ai/engines/host/segments.h"
#include "platform/base/result.h"

struct ps_decoder_s;

namespace millrace::engines::host {

// One PocketSphinx decoder for US English, made for the first piece (half a second, 100 MB) and kept.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The words of a piece (16 kHz, mono), without noises. The whole piece is one utterance: the more the
  // recogniser hears at once, the better it fits itself to the voice. kPieceFailed; kInternal: no model.
  base::Result<std::vector<HeardWord>> hear(std::span<const std::int16_t> samples);

 private:
  struct Free {
    void operator()(ps_decoder_s* decoder) const;
  };
  base::Status ready();
  std::vector<HeardWord> words() const;

  std::unique_ptr<ps_decoder_s, Free> decoder_;
};

}  // namespace millrace::engines::host
