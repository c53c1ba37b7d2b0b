#pragma once
#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

// The pictures of tool results.
namespace millrace::providers {

// True if the model accepts images, according to its row or its name.
bool sees_images(const Target& target);

// True if a tool message has pictures of an MCP result (schemas::kPicturesMember).
bool has_pictures(const Json& messages);
// Turns the pictures of MCP results into parts of their messages, if the model sees them and the provider
// takes their type. Removes the private member from all messages.
void show_pictures(const Target& target, Json& messages);

// True if a tool message has an image part.
bool has_tool_images(const Json& messages);
// Moves the image parts of tool messages into one user message after the last result of their turn, because
// OpenAI's tool messages only have text.
void move_tool_images(Json& messages);

}  // namespace millrace::providers
