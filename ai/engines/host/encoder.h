#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "platform/base/result.h"
#include "schemas/speech.h"

namespace millrace::engines::host {

// Turns samples (24 kHz, mono) into the bytes of a file that is read while it is made: its head tells no
// length, and nothing in it is written twice.
class Encoder {
 public:
  using Out = std::function<void(std::string_view)>;

  Encoder() = default;
  virtual ~Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // kInternal: the encoder failed; what came out until then stands.
  virtual base::Status write(std::span<const std::int16_t> samples) = 0;
  virtual base::Status finish() = 0;
};

// `out` gets the bytes, in order.
base::Result<std::unique_ptr<Encoder>> make_encoder(schemas::SpeechEncoding encoding, Encoder::Out out);

}  // namespace millrace::engines::host
