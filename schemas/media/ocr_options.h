#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/field.h"
#include "schemas/json/json.h"

// The options of a POST /v1/ocr that only models of providers have, in the format of Mistral's OCR API. The
// local engine has none of them.
namespace millrace::schemas {

inline constexpr std::size_t kOcrOptionsBytesMax = 256 << 10;  // of all options of one request, as JSON
inline constexpr std::int64_t kOcrPromptMax = 32 << 10;        // bytes of document_annotation_prompt

inline constexpr std::array<std::string_view, 10> kOcrOptions{"table_format",
                                                              "extract_header",
                                                              "extract_footer",
                                                              "include_blocks",
                                                              "image_limit",
                                                              "image_min_size",
                                                              "confidence_scores_granularity",
                                                              "document_annotation_prompt",
                                                              "bbox_annotation_format",
                                                              "document_annotation_format"};

// Adds a checked value. Its long strings are copied into it.
void store_ocr_option(Json& options, std::string_view name, FieldReader& reader, const Json& value);
// The same for a JSON object as text, as forms and queries have it. Reports a problem if it is none.
void store_ocr_option_text(Json& options, std::string_view name, FieldReader& reader, const Json& value);
// The options that ask for something: not null and not false.
std::vector<std::string> requested_ocr_options(const Json& options);

// The rows of the options. `Draft` has a member `Json options`, an object.
template <class Draft>
struct OcrOptionRows {
  template <std::size_t kOption>
  static void store(void* object, FieldReader& reader, const Json& value) {
    store_ocr_option(static_cast<Draft*>(object)->options, kOcrOptions[kOption], reader, value);
  }
  template <std::size_t kOption>
  static void store_text(void* object, FieldReader& reader, const Json& value) {
    store_ocr_option_text(static_cast<Draft*>(object)->options, kOcrOptions[kOption], reader, value);
  }

  static constexpr std::array<std::string_view, 2> kTableFormats{"markdown", "html"};
  static constexpr std::array<std::string_view, 2> kConfidences{"page", "word"};
  static constexpr std::array kSimple{
      Field{.name = kOcrOptions[0],
            .text = "Tables apart from the text, in `tables`. Only for a provider's model",
            .choices = kTableFormats,
            .store = &store<0>},
      Field{.name = kOcrOptions[1],
            .type = FieldType::kBool,
            .text = "Heads of pages apart from the text, in `header`. Only for a provider's model",
            .store = &store<1>},
      Field{.name = kOcrOptions[2],
            .type = FieldType::kBool,
            .text = "Feet of pages apart from the text, in `footer`. Only for a provider's model",
            .store = &store<2>},
      Field{.name = kOcrOptions[3],
            .type = FieldType::kBool,
            .text = "Paragraphs with their boxes, in `blocks`. Only for a provider's model",
            .store = &store<3>},
      Field{.name = kOcrOptions[4],
            .type = FieldType::kInteger,
            .text = "Images to return at most. Only for a provider's model",
            .store = &store<4>},
      Field{.name = kOcrOptions[5],
            .type = FieldType::kInteger,
            .text = "Least height and width of an image. Only for a provider's model",
            .store = &store<5>},
      Field{.name = kOcrOptions[6],
            .text = "Confidence of pages or words, in `confidence_scores`. Only for a provider's model",
            .choices = kConfidences,
            .store = &store<6>},
      Field{.name = kOcrOptions[7],
            .text = "What the annotation of the document is about. Only for a provider's model",
            .max = kOcrPromptMax,
            .store = &store<7>},
  };
  static constexpr std::array kFormats{
      Field{.name = kOcrOptions[8],
            .type = FieldType::kAnyObject,
            .text = "A `response_format` for the annotation of each image. Only for a provider's model",
            .store = &store<8>},
      Field{.name = kOcrOptions[9],
            .type = FieldType::kAnyObject,
            .text = "A `response_format` for the annotation of the document. Only for a provider's model",
            .store = &store<9>},
  };
  static constexpr std::array kFormatTexts{
      Field{
          .name = kOcrOptions[8],
          .type = FieldType::kCustom,
          .text =
              "A `response_format` for the annotation of each image, as a JSON object. Only for a provider's "
              "model",
          .schema = R"({"type":"string"})",
          .custom = &store_text<8>},
      Field{.name = kOcrOptions[9],
            .type = FieldType::kCustom,
            .text = "A `response_format` for the annotation of the document, as a JSON object. Only for a "
                    "provider's model",
            .schema = R"({"type":"string"})",
            .custom = &store_text<9>},
  };
};

}  // namespace millrace::schemas
