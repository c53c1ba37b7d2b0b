#include <algorithm>
#include <array>

#include "schemas/chat_wanted.h"
#include "schemas/json_text.h"

// Readers of parameters that are no messages and no tools.
namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::int64_t kModelNameMax = 256;
constexpr std::size_t kStopMax = 4, kMetadataMax = 16, kMetadataKeyMax = 64, kMetadataValueMax = 512;
constexpr std::size_t kWordMax = 32;
constexpr std::size_t kLogitBiasMax = 4096;
constexpr int kBiasMax = 100;
constexpr std::int64_t kFormatNameMax = 256;

void add_model(FieldReader& reader, const json& value, std::vector<std::string>& models) {
  if (const auto name = read_name(reader, value, kModelNameMax)) models.emplace_back(*name);
}

bool is_word(std::string_view text) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (text.empty() || text.size() > kWordMax || !lower(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; });
}

constexpr std::array kSafetySetting{
    Field{.name = "category", .required = true},
    Field{.name = "threshold", .required = true},
};

constexpr std::array<std::string_view, 3> kFormats{"text", "json_object", "json_schema"};
constexpr std::array kJsonSchema{
    Field{.name = "name", .required = true, .min = 1, .max = kFormatNameMax},
    Field{.name = "description"},
    Field{.name = "schema", .type = FieldType::kAnyObject},
    Field{.name = "strict", .type = FieldType::kBool},
};
constexpr std::array kFormat{Field{.name = "type", .required = true, .choices = kFormats}};
constexpr std::array kSchemaFormat{
    Field{.name = "json_schema", .type = FieldType::kObject, .required = true, .members = kJsonSchema}};

}  // namespace

std::optional<std::string_view> read_name(FieldReader& reader, const json& value, std::int64_t max) {
  const Field row{.name = {}, .min = 1, .max = max};
  return reader.check(row, value) ? reader.text(value) : std::nullopt;
}

void read_chat_model(void* object, FieldReader& reader, const json& value) {
  auto& models = chat_wanted(object).models;
  if (value.is_array()) {
    if (!reader.is_list(value, 1, kChatModelsMax)) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const FieldReader::Inside item(reader, i);
      add_model(reader, value[i], models);
    }
    return;
  }
  if (!value.is_object()) return add_model(reader, value, models);
  const auto name = value.find("model");
  const auto settings = value.find("settings");
  {
    const FieldReader::Inside member(reader, "model");
    if (name == value.end() || name->is_null()) {
      reader.problem("Field required", "missing");
    } else {
      add_model(reader, *name, models);
    }
  }
  const FieldReader::Inside member(reader, "settings");
  if (settings != value.end() && !settings->is_null()) reader.is_object(*settings);
}

void read_stop(void*, FieldReader& reader, const json& value) {
  const Field row{.name = {}, .min = 1};
  if (!value.is_array()) {
    reader.check(row, value);
    return;
  }
  if (!reader.is_list(value, 0, kStopMax)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.check(row, value[i]);
  }
}

void read_logit_bias(void*, FieldReader& reader, const json& value) {
  if (!reader.is_object(value, kLogitBiasMax)) return;
  const Field row{.name = {}, .type = FieldType::kNumber, .min = -kBiasMax, .max = kBiasMax};
  for (const auto& [token, bias] : value.items()) {
    const FieldReader::Inside member(reader, token);
    if (!reader.check(row, bias)) return;
  }
}

void read_metadata(void*, FieldReader& reader, const json& value) {
  if (!reader.is_object(value, kMetadataMax)) return;
  for (const auto& [key, text] : value.items()) {
    const FieldReader::Inside member(reader, std::string_view(key).substr(0, kMetadataKeyMax));
    const auto read = reader.text(text);
    if (characters(key) > kMetadataKeyMax) {
      reader.problem("A key should have at most 64 characters", "string_too_long", nullptr,
                     R"({"max_length":64})");
    } else if (!read) {
      reader.problem("Input should be a valid string", "string_type", &text);
    } else if (characters(*read) > kMetadataValueMax) {
      reader.problem("String should have at most 512 characters", "string_too_long", nullptr,
                     R"({"max_length":512})");
    }
  }
}

void read_modalities(void* object, FieldReader& reader, const json& value) {
  constexpr std::size_t kModalitiesMax = 8;
  if (!reader.is_list(value, 0, kModalitiesMax)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    read_word(object, reader, value[i]);
    if (reader.text(value[i]) == "audio") chat_wanted(object).wants_audio = true;
  }
}

void read_safety_settings(void* object, FieldReader& reader, const json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    reader.read(kSafetySetting, value[i], object);
  }
}

void read_guardrails(void*, FieldReader& reader, const json& value) {
  if (!reader.is_list(value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    if (!reader.is_object(value[i])) return;
  }
}

void read_credentials(void*, FieldReader& reader, const json& value) {
  if (!value.is_structured()) reader.problem("Input should be a list or an object", "list_type");
}

void read_word(void*, FieldReader& reader, const json& value) {
  const auto text = reader.text(value);
  if (!text) {
    reader.problem("Input should be a valid string", "string_type", &value);
  } else if (!is_word(*text)) {
    reader.problem("Input should be a word of lower-case letters, at most 32", "string_pattern_mismatch",
                   &value, R"({"pattern":"^[a-z][a-z0-9_-]{0,31}$"})");
  }
}

void read_voice(void*, FieldReader& reader, const json& value) {
  if (!value.is_object() && !reader.text(value))
    reader.problem("Input should be a string or an object", "string_type", &value);
}

void read_prediction_content(void*, FieldReader& reader, const json& value) {
  std::vector<NamedUrl> none;  // texts alone
  read_content(reader, value, ContentOf::kSystem, none);
}

void read_response_format(void* object, FieldReader& reader, const json& value) {
  reader.read(kFormat, value, object);
  if (!value.is_object()) return;
  const auto type = value.find("type");
  const auto text = type == value.end() ? std::nullopt : reader.text(*type);
  chat_wanted(object).asks_format = text != "text";
  if (text == "json_schema") reader.read(kSchemaFormat, value, object);
}

}  // namespace millrace::schemas
