#include "schemas/jobs/job_metadata.h"

#include <algorithm>

#include "schemas/json/json_text.h"

namespace millrace::schemas {

Metadata read_metadata(FieldReader& reader, const Json& value) {
  Metadata pairs;
  if (!reader.is_object(value, kMetadataMax)) return pairs;
  for (const auto& [key, item] : value.items()) {
    const FieldReader::Inside member(reader, std::string_view(key).substr(0, kMetadataKeyMax));
    const auto text = reader.text(item);
    if (characters(key) > kMetadataKeyMax) {
      reader.problem("A key should have at most 64 characters", "string_too_long", nullptr,
                     R"({"max_length":64})");
    } else if (!text) {
      reader.problem("Input should be a valid string", "string_type", &item);
    } else if (characters(*text) > kMetadataValueMax) {
      reader.problem("String should have at most 512 characters", "string_too_long", nullptr,
                     R"({"max_length":512})");
    } else {
      pairs.emplace_back(key, *text);
    }
  }
  return pairs;
}

Metadata read_metadata_text(FieldReader& reader, const Json& value) {
  const bool is_list = value.is_array();
  if (is_list && value.size() != 1) {
    reader.problem("Input should be one JSON object", "dict_type");
    return {};
  }
  const auto text = reader.text(is_list ? value[0] : value);
  const auto metadata = Json::parse(text.value_or(""), nullptr, false);
  if (metadata.is_object()) return read_metadata(reader, metadata);
  reader.problem("Input should be a JSON object", "dict_type");
  return {};
}

std::string metadata_json(const Metadata& metadata) {
  if (metadata.empty()) return {};
  JsonObject out;
  for (const auto& [key, value] : metadata) out.member(key, value);
  return out.finish();
}

bool has_all(std::string_view metadata_json, const Metadata& pairs) {
  if (pairs.empty()) return true;
  const Json stored = metadata_json.empty() ? Json() : Json::parse(metadata_json, nullptr, false);
  if (!stored.is_object()) return false;
  return std::ranges::all_of(pairs, [&](const auto& pair) {
    const auto found = stored.find(pair.first);
    return found != stored.end() && *found == pair.second;
  });
}

}  // namespace millrace::schemas
