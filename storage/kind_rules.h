#pragma once
#include "schemas/job.h"

// Inside storage: in what the rows of one kind differ from those of another.
namespace millrace::storage {

struct KindRules {
  // Jobs may have sealed bytes in job_secrets while they are open. Kinds that have none pay no statement for
  // it.
  bool keeps_secrets = false;
  // Results are small and stay as long as the job's row (contract.md §1).
  bool result_stays = false;
  // Events carry output: up to megabytes of a job, where the others have a few short ones.
  bool tells_output = false;

  // Jobs can be run again by their owner from what is stored of them.
  constexpr bool can_be_retried() const { return !keeps_secrets; }
};

constexpr KindRules kind_rules(schemas::Kind kind) {
  switch (kind) {
    case schemas::Kind::kOcr:
      return {};
    case schemas::Kind::kExec:
      return {.keeps_secrets = true, .result_stays = true, .tells_output = true};
  }
  return {};
}

}  // namespace millrace::storage
