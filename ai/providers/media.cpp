#include "ai/providers/media.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "ai/providers/gemini/media.h"
#include "ai/providers/openai/media.h"
#include "schemas/json/broken_json.h"

namespace millrace::providers {
namespace {

base::Error has_no(const Target& target, std::string_view what) {
  return base::error(base::Code::kBadRequest,
                     "model '" + target.name + "': provider " + std::string(target.preset->name) +
                         " has no " + std::string(what),
                     "model");
}

}  // namespace

std::optional<base::Error> no_embeddings(const Target& target) {
  if (target.preset->family == Family::kAnthropic || target.preset->dialect == Dialect::kGroq)
    return has_no(target, "embeddings");
  return std::nullopt;
}

std::optional<base::Error> no_images(const Target& target) {
  if (target.preset->family == Family::kAnthropic || target.preset->dialect == Dialect::kGroq)
    return has_no(target, "images");
  return std::nullopt;
}

bool supports_token_input(const Target& target) {
  switch (target.preset->dialect) {
    case Dialect::kOpenai:
    case Dialect::kMock:
      return true;
    case Dialect::kLocal:
      return target.preset->name != "ollama";
    case Dialect::kAnthropic:
    case Dialect::kGemini:
    case Dialect::kXai:
    case Dialect::kMistral:
    case Dialect::kGroq:
      return false;
  }
  return false;
}

std::size_t embedding_batch_max(const Target& target) {
  return target.preset->family == Family::kGemini ? kGeminiBatchMax : schemas::kEmbeddingInputsMax;
}

base::Result<WireRequest> embedding_request(const Target& target, const EmbeddingPart& part) {
  switch (target.preset->family) {
    case Family::kOpenai:
      return openai_embedding_request(target, part);
    case Family::kGemini:
      return gemini_embedding_request(target, part);
    case Family::kAnthropic:
      return has_no(target, "embeddings");
    case Family::kMock:
      break;
  }
  throw std::logic_error("the mock provider has no wire");
}

base::Result<schemas::EmbeddingReply> embedding_reply(const Target& target, std::string_view body,
                                                      std::size_t inputs) {
  switch (target.preset->family) {
    case Family::kOpenai:
      return openai_embedding_reply(target, body, inputs);
    case Family::kGemini:
      return gemini_embedding_reply(target, body, inputs);
    case Family::kAnthropic:
      return has_no(target, "embeddings");
    case Family::kMock:
      break;
  }
  throw std::logic_error("the mock provider has no wire");
}

int image_calls(const Target& target, const schemas::ImageRequest& request) {
  switch (target.preset->family) {
    case Family::kOpenai:
      return openai_image_calls(target, request);
    case Family::kGemini:
      return gemini_image_calls(target, request);
    case Family::kAnthropic:
    case Family::kMock:
      break;
  }
  return 1;
}

WireRequest image_request(const Target& target, const schemas::ImageRequest& request, int call) {
  return target.preset->family == Family::kGemini ? gemini_image_request(target, request, call)
                                                  : openai_image_request(target, request);
}

base::Result<schemas::ImageReply> image_reply(const Target& target, std::string_view body) {
  return target.preset->family == Family::kGemini ? gemini_image_reply(target, body)
                                                  : openai_image_reply(target, body);
}

namespace {

// Receives parser events. Values for which it returns false are not kept in the tree.
class VectorParser {
 public:
  VectorParser(std::string_view name, std::vector<schemas::Vector>& vectors)
      : name_(name), vectors_(vectors) {}

  bool on_event(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    good_ = good_ && depth <= kWireDepthMax;
    switch (event) {
      case Event::key:
        named_ = parsed.get_ref<const std::string&>() == name_;
        return true;
      case Event::value:
        return !inside_ ? keep() : take(parsed);
      case Event::array_start:
        good_ = good_ && !inside_;
        inside_ = std::exchange(named_, false);
        if (inside_) vectors_.emplace_back();
        return good_;
      case Event::object_start:
        good_ = good_ && !inside_;
        named_ = false;
        return good_;
      case Event::array_end:
        inside_ = false;
        return true;
      case Event::object_end:
        return true;
    }
    return true;
  }
  bool good() const { return good_; }

 private:
  bool keep() {
    named_ = false;
    return true;
  }
  bool take(const Json& number) {
    const float value = number.is_number() ? number.get<float>() : NAN;
    good_ = good_ && std::isfinite(value);
    vectors_.back().push_back(value);
    return false;
  }

  std::string_view name_;
  std::vector<schemas::Vector>& vectors_;
  bool named_ = false;  // the next value is that of the member `name_`
  bool inside_ = false;
  bool good_ = true;
};

}  // namespace

namespace {

std::optional<ReadVectors> parse_vectors(std::string_view body, std::string_view name) {
  ReadVectors out;
  VectorParser listener(name, out.vectors);
  const auto on_event = [&](int depth, Json::parse_event_t event, Json& parsed) {
    return listener.on_event(depth, event, parsed);
  };
  out.rest = Json::parse(body, on_event, false);
  if (!listener.good() || !out.rest.is_object()) return std::nullopt;
  return out;
}

}  // namespace

std::optional<ReadVectors> read_vectors(std::string_view body, std::string_view name) {
  std::optional<ReadVectors> read = parse_vectors(body, name);
  return read || schemas::is_valid_utf8_json(body) ? std::move(read)
                                                   : parse_vectors(schemas::repair_utf8_json(body), name);
}

}  // namespace millrace::providers
