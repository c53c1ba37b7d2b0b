#pragma once
#include "ai/providers/json_access.h"

// References of JSON Schemas, whose targets a provider may not keep: it leaves out unknown keywords, renames
// oneOf, merges allOf.
namespace millrace::providers {

// Copies the targets of other references into `$defs`, so that each leads to the root or to a definition of
// it. `keeps_definitions`: those of `definitions` stay there. `root` has passed valid_schema. False: the
// copies would exceed SchemaTree::kBytesMax. The references to what is not copied are removed.
bool define_targets(Json& root, bool keeps_definitions);

// Removes each $ref that leads nowhere within `root`. True: there was one.
bool drop_lost_references(Json& root);

}  // namespace millrace::providers
