# The programs of scripts/bench. They are not installed. The preset `test` builds them, so that they always compile.
millrace_library(bench_measure tests/bench/measure USES base)
millrace_program(bench_load  tests/bench/load  USES bench_measure base)
millrace_program(bench_noop  tests/bench/noop  USES front base PACKAGES jemalloc)
millrace_program(bench_floor tests/bench/floor USES bench_measure base)
millrace_program(bench_jobs  tests/bench/jobs  USES bench_measure workers jobs engines storage bus net process schemas base PACKAGES jemalloc)
millrace_program(bench_upstream tests/bench/upstream USES bench_measure base)
millrace_program(bench_streams  tests/bench/streams  USES bench_measure base)
millrace_program(bench_timed  tests/bench/timed  USES base PACKAGES flite)
target_sources(bench_timed PRIVATE tests/unit/engines/timed_speech.cpp)

if(TARGET programs_and_plain_tests)
  add_dependencies(programs_and_plain_tests bench_load bench_noop bench_floor bench_jobs bench_upstream bench_streams
                   bench_timed)
endif()
