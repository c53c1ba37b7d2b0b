#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/field.h"
#include "schemas/json/json.h"

// `metadata`: texts by which a client finds its jobs.
namespace millrace::schemas {

inline constexpr std::size_t kMetadataMax = 16;
inline constexpr std::size_t kMetadataKeyMax = 64, kMetadataValueMax = 512;  // characters
inline constexpr std::string_view kMetadataSchema =
    R"({"type":"object","maxProperties":16,"additionalProperties":{"type":"string","maxLength":512}})";

using Metadata = std::vector<std::pair<std::string, std::string>>;

// The pairs of an object; its faults are reported to the reader.
Metadata read_metadata(FieldReader& reader, const Json& value);
// As a JSON object; empty: no pairs.
std::string metadata_json(const Metadata& metadata);
// True if the JSON object has all these pairs.
bool has_all(std::string_view metadata_json, const Metadata& pairs);

// The reader of a row whose value is such an object; the member is text for Submission::metadata.
template <class Object, auto Member>
void read_metadata_into(void* object, FieldReader& reader, const Json& value) {
  static_cast<Object*>(object)->*Member = metadata_json(read_metadata(reader, value));
}

// The same for a form or a query, which has the object as JSON text; of a form it is a list of one.
inline constexpr std::string_view kMetadataTextSchema =
    R"({"type":"string","contentMediaType":"application/json"})";
Metadata read_metadata_text(FieldReader& reader, const Json& value);
template <class Object, auto Member>
void read_metadata_text_into(void* object, FieldReader& reader, const Json& value) {
  static_cast<Object*>(object)->*Member = metadata_json(read_metadata_text(reader, value));
}

}  // namespace millrace::schemas
