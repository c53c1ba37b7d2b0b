#include <algorithm>
#include <array>

#include "schemas/chat_wanted.h"
#include "schemas/url_text.h"

// Readers of mcp_servers and of what routing goes by.
namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::int64_t kServerNameMax = 256, kServerUrlMax = 4096;
constexpr std::size_t kAttributesMax = 64, kAttributeModelsMax = 128;

template <auto Member>
void store_ref(void* object, FieldReader& reader, const json& value) {
  assign(reader, value, static_cast<McpServerRef*>(object)->*Member);
}

void refuse_command(void*, FieldReader& reader, const json&) {
  reader.problem("Programs are not started for a request: name a server by `url` or `slug`",
                 "extra_forbidden");
}

constexpr std::array kServer{
    Field{.name = "slug", .min = 1, .max = kServerNameMax, .store = &store_ref<&McpServerRef::slug>},
    Field{.name = "version", .min = 1, .max = kServerNameMax, .store = &store_ref<&McpServerRef::version>},
    Field{.name = "url", .min = 1, .max = kServerUrlMax, .store = &store_ref<&McpServerRef::url>},
    Field{.name = "name", .min = 1, .max = kServerNameMax, .store = &store_ref<&McpServerRef::name>},
    Field{.name = "command", .type = FieldType::kCustom, .custom = &refuse_command},
    Field{.name = "args", .type = FieldType::kCustom, .custom = &refuse_command},
};

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '\x7f'; });
}

bool check_url(FieldReader& reader, std::string_view url) {
  const bool good = plausible_url(url) && !has_credentials(url);
  if (!good) reader.problem("Input should be an http or https URL without credentials", "url_parsing");
  return good;
}

bool check_slug(FieldReader& reader, std::string_view slug) {
  if (!is_visible(slug)) reader.problem("A slug should have no white space", "value_error");
  return is_visible(slug);
}

// An object: what it must not have, too.
void add_object(ChatWanted& wanted, FieldReader& reader, const json& value) {
  McpServerRef ref;
  const std::size_t before = reader.failures();
  reader.read(kServer, value, &ref);
  if (reader.failures() != before) return;
  for (const auto& [name, ignored] : value.items()) {
    const bool known =
        std::any_of(kServer.begin(), kServer.end(), [&](const Field& f) { return f.name == name; });
    if (!known) wanted.dropped.push_back({.name = "mcp_servers." + name});
  }
  if (ref.slug.empty() == ref.url.empty())
    return reader.problem("Give either `url` or `slug`", "value_error");
  const FieldReader::Inside member(reader, ref.slug.empty() ? "url" : "slug");
  if (!(ref.slug.empty() ? check_url(reader, ref.url) : check_slug(reader, ref.slug))) return;
  ref.field = reader.place();
  wanted.mcp_servers.push_back(std::move(ref));
}

void add_server(ChatWanted& wanted, FieldReader& reader, const json& value) {
  if (value.is_object()) return add_object(wanted, reader, value);
  const auto text = read_name(reader, value, kServerUrlMax);
  if (!text) return;
  const bool is_url = text->find("://") != std::string_view::npos;
  if (is_url ? !check_url(reader, *text) : !check_slug(reader, *text)) return;
  McpServerRef ref;
  (is_url ? ref.url : ref.slug) = *text;
  ref.field = reader.place();
  wanted.mcp_servers.push_back(std::move(ref));
}

void read_attributes(FieldReader& reader, const json& value, Attributes& to) {
  if (!reader.is_object(value, kAttributesMax)) return;
  const Field row{.name = {}, .type = FieldType::kNumber, .min = 0, .max = 1};
  for (const auto& [name, strength] : value.items()) {
    const FieldReader::Inside member(reader, name);
    if (reader.check(row, strength)) to[name] = strength.get<double>();
  }
}

}  // namespace

void read_mcp_servers(void* object, FieldReader& reader, const json& value) {
  auto& wanted = *static_cast<ChatWanted*>(object);
  if (!value.is_array()) return add_server(wanted, reader, value);
  if (!reader.is_list(value, 0, kMcpServersMax)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    add_server(wanted, reader, value[i]);
  }
}

void read_model_attributes(void* object, FieldReader& reader, const json& value) {
  if (!reader.is_object(value, kAttributeModelsMax)) return;
  auto& models = static_cast<ChatWanted*>(object)->model_attributes;
  for (const auto& [model, attributes] : value.items()) {
    const FieldReader::Inside member(reader, model);
    read_attributes(reader, attributes, models[model]);
  }
}

void read_agent_attributes(void* object, FieldReader& reader, const json& value) {
  read_attributes(reader, value, static_cast<ChatWanted*>(object)->agent_attributes);
}

}  // namespace millrace::schemas
