#pragma once
#include <string>

#include "schemas/json/json.h"

// What the providers publish about the JSON Schemas that they accept, and a validator, both written apart
// from the translations that they judge. docs/design/providers.md §4 has the sources of the rules.
namespace millrace::support {

// Where a schema is sent.
enum class SchemaPlace {
  kOpenaiTool,       // tools[].function.parameters
  kOpenaiStrict,     // the same with `strict`, and response_format.json_schema.schema with it; Groq's, too
  kXai,              // tools[].function.parameters and response_format.json_schema.schema
  kAnthropicTool,    // tools[].input_schema
  kAnthropicStrict,  // the same with `strict`, and output_config.format.schema
  kGeminiTool,       // functionDeclarations[].parameters
  kGeminiAnswer,     // generationConfig.responseJsonSchema
};

// The first thing in `schema` that the rules of the place forbid, after its path; empty: nothing.
std::string forbidden(SchemaPlace place, const schemas::Json& schema);

// True if `value` matches `root`. Knows the keywords of RandomSchema, and Gemini's `nullable`. `named`: an
// alternative only matches objects whose members it names, although it allows others.
bool fits(const schemas::Json& root, const schemas::Json& value, bool named = false);

// The schema that the $ref of `schema` refers to; null: it has none, or it leads nowhere.
const schemas::Json* target_of(const schemas::Json& root, const schemas::Json& schema);

}  // namespace millrace::support
