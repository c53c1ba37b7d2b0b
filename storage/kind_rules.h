#pragma once
#include "schemas/job.h"

// Inside storage: in what the rows of one kind differ from those of another.
namespace millrace::storage {

// Its jobs may have sealed bytes in job_secrets while they are open. Kinds that have none pay no statement
// for it.
constexpr bool keeps_secrets(schemas::Kind kind) {
  switch (kind) {
    case schemas::Kind::kOcr:
      return false;
    case schemas::Kind::kExec:
      return true;
  }
  return false;
}

// Its results are small and stay as long as the job's row (contract.md §1).
constexpr bool result_stays(schemas::Kind kind) {
  switch (kind) {
    case schemas::Kind::kOcr:
      return false;
    case schemas::Kind::kExec:
      return true;
  }
  return false;
}

// Its events carry output: up to megabytes of a job, where the others have a few short ones.
constexpr bool tells_output(schemas::Kind kind) {
  switch (kind) {
    case schemas::Kind::kOcr:
      return false;
    case schemas::Kind::kExec:
      return true;
  }
  return false;
}

// Its jobs can be run again by their owner from what is stored of them.
constexpr bool can_be_retried(schemas::Kind kind) { return !keeps_secrets(kind); }

}  // namespace millrace::storage
