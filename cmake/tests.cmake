# tests/unit/<module>/*.cpp → unit_<module>; tests/contract/*.cpp → contract_<file>; tests/<suite>/test_*.py → pytest.
find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB support_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/*.cpp)
if(NOT support_sources)
  set(support_sources ${CMAKE_BINARY_DIR}/generated/empty.cpp)
endif()
add_library(millrace_test_support STATIC ${support_sources})
target_precompile_headers(millrace_test_support REUSE_FROM millrace_pch)
target_link_libraries(millrace_test_support PUBLIC millrace_flags millrace_base millrace_schemas pkg_json
                      PRIVATE millrace_hardening)

# Additional flags of tests. Tests are compiled without optimization where this does not make them slower (ADR 12), and
# without UBSan: UBSan doubles the compile time of GoogleTest's macros, and only the product code needs it.
add_library(millrace_test_flags INTERFACE)
target_link_libraries(millrace_test_flags INTERFACE millrace_flags GTest::gmock GTest::gtest)
if(NOT MILLRACE_SANITIZE MATCHES "thread")
  target_compile_options(millrace_test_flags INTERFACE -O0)
endif()
if(MILLRACE_SANITIZE MATCHES "address")  # not with TSan: GCC warns about atomic fences that it does not support
  target_compile_options(millrace_test_flags INTERFACE -Werror)
endif()
if(MILLRACE_SANITIZE MATCHES "undefined")
  target_compile_options(millrace_test_flags INTERFACE -fno-sanitize=undefined)
endif()
add_library(millrace_test_pch OBJECT ${CMAKE_BINARY_DIR}/generated/empty.cpp)
target_link_libraries(millrace_test_pch PRIVATE millrace_test_flags)
target_precompile_headers(millrace_test_pch PRIVATE ${MILLRACE_PCH} <gmock/gmock.h> <gtest/gtest.h>)

# Without times of an earlier run, ctest starts tests in descending order of their cost.
set(MILLRACE_COST_unit 1)
set(MILLRACE_COST_style 1)
set(MILLRACE_COST_contract 100)
set(MILLRACE_COST_clients 300)
set(MILLRACE_COST_browser 350)
set(MILLRACE_COST_integration 400)
set(MILLRACE_COST_crash 500)

# Each test's share of the six slots that scripts/test uses on two processors: three for tests that compute, one for
# tests that mostly wait, two for a mixture.
set(MILLRACE_SHARES_unit 1)
set(MILLRACE_SHARES_style 2)
set(MILLRACE_SHARES_contract 1)
set(MILLRACE_SHARES_clients 2)
set(MILLRACE_SHARES_browser 3)
set(MILLRACE_SHARES_integration 2)
set(MILLRACE_SHARES_crash 2)
if(MILLRACE_SANITIZE)
  set(MILLRACE_SHARES_unit 2)
endif()

# Each test runs in a session of its own, so that the kernel divides the processors fairly between tests (autogroup).
# In one common session, engines, which run in SCHED_IDLE, get no time while other tests compute. The signal ends a
# test whose ctest was interrupted.
set(MILLRACE_IN_OWN_SESSION setpriv --pdeathsig INT setsid)

# The targets of a full scripts/test. The sanitizer builds use unit_and_contract. The build without a sanitizer has the
# programs, and the unit and contract tests that are stricter without a sanitizer. All others have the label
# `sanitized`.
add_custom_target(unit_and_contract)
add_custom_target(programs_and_plain_tests)
set(MILLRACE_PLAIN_TESTS unit_engines unit_front)

# Four ctest entries, each for a quarter of the tests of a binary that match `filter`: starting a program takes longer
# than most tests. Entries for single tests have the label `each`. `VARIABLES`: additional environment variables.
# OMP_THREAD_LIMIT is what millrace-engine sets for itself: with more threads a page costs five times the CPU.
function(millrace_gtest_runs name label prefix filter)
  cmake_parse_arguments(ARG "" "" "VARIABLES" ${ARGN})
  set(environment MILLRACE_BUILD=${CMAKE_BINARY_DIR} OMP_THREAD_LIMIT=1 ${ARG_VARIABLES})
  set(properties COST ${MILLRACE_COST_${label}} PROCESSORS ${MILLRACE_SHARES_${label}} ${ARG_UNPARSED_ARGUMENTS})
  set(labels ${label})
  if(NOT name IN_LIST MILLRACE_PLAIN_TESTS)
    list(APPEND labels sanitized)
  endif()
  foreach(quarter RANGE 3)
    add_test(NAME ${prefix}${name}.${quarter}
             COMMAND ${MILLRACE_IN_OWN_SESSION} $<TARGET_FILE:${name}> --gtest_filter=${filter})
    set_tests_properties(${prefix}${name}.${quarter} PROPERTIES LABELS "${labels}" TIMEOUT 600 ${properties}
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${quarter}")
  endforeach()
  gtest_discover_tests(${name} TEST_PREFIX "${prefix}" TEST_FILTER "${filter}" TEST_LIST ${prefix}${name}_tests
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS each TIMEOUT 300 ${properties} ENVIRONMENT "${environment}")
endfunction()

# One test binary with its ctest label. It has the packages of its module, so a test can use the module's internals.
function(millrace_gtest name label)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;PROPERTIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  if(MILLRACE_SANITIZE MATCHES "thread")
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/sanitize/c11_threads.cpp)
    set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/sanitize/c11_threads.cpp PROPERTIES
                                SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  target_precompile_headers(${name} REUSE_FROM millrace_test_pch)
  target_link_libraries(${name} PRIVATE millrace_test_support millrace_test_flags GTest::gtest_main)
  foreach(module ${ARG_USES})
    target_link_libraries(${name} PRIVATE millrace_${module})
  endforeach()
  millrace_gtest_runs(${name} ${label} "" "*" ${ARG_PROPERTIES})
  add_dependencies(unit_and_contract ${name})
  if(name IN_LIST MILLRACE_PLAIN_TESTS)
    add_dependencies(programs_and_plain_tests ${name})
  endif()
endfunction()

foreach(module base net process schemas storage s3 bus notify jobs providers inference engines machines workers front api cli app)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/${module}/*.cpp)
  if(sources)
    millrace_gtest(unit_${module} unit SOURCES ${sources} USES ${module})
  endif()
endforeach()
# Requests to upstreams without TLS use our own connections. These tests run with curl, too (ADR 17).
foreach(pair "net;Fetch.*:HttpClient.*" "providers;Calls.*:Ends.*")
  list(GET pair 0 module)
  list(GET pair 1 filter)
  if(TARGET unit_${module})
    millrace_gtest_runs(unit_${module} unit curl. "${filter}" VARIABLES MILLRACE_TEST_HTTP=curl)
  endif()
endforeach()
foreach(program millrace millrace-engine millrace-jail-init)
  if(TARGET ${program})
    add_dependencies(programs_and_plain_tests ${program})
  endif()
endforeach()
foreach(module engines workers)  # their tests start millrace-engine
  if(TARGET unit_${module} AND TARGET millrace-engine)
    add_dependencies(unit_${module} millrace-engine)
  endif()
endforeach()
foreach(module machines workers app)
  if(TARGET unit_${module})
    add_dependencies(unit_${module} millrace-jail-init)
  endif()
endforeach()
if(TARGET unit_engines)  # its tests also call the code of the program millrace-engine directly
  target_link_libraries(unit_engines PRIVATE millrace_host)
endif()
foreach(pair "store;storage" "blobs;s3" "dispatch;bus" "events;notify" "driver;machines")
  list(GET pair 0 seam)
  list(GET pair 1 module)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/contract/${seam}_contract*.cpp)
  if(sources)
    set(fixture)
    if(seam STREQUAL dispatch)
      set(fixture FIXTURES_REQUIRED kafka)
    elseif(seam STREQUAL events)
      set(fixture FIXTURES_REQUIRED kafka_and_postgres)
    elseif(seam STREQUAL store)
      set(fixture FIXTURES_REQUIRED postgres)
    elseif(seam STREQUAL blobs)
      set(fixture FIXTURES_REQUIRED s3)
    endif()
    millrace_gtest(contract_${seam} contract SOURCES ${sources} USES ${module} PROPERTIES ${fixture})
  endif()
endforeach()
if(TARGET contract_driver)
  add_dependencies(contract_driver millrace-jail-init)
endif()

# One real broker for all tests with FIXTURES_REQUIRED kafka. While it runs, the file kafka-address has its address.
set(kafka_dir ${CMAKE_BINARY_DIR}/kafka)
set(kafka_address ${CMAKE_BINARY_DIR}/kafka-address)
add_test(NAME kafka.start COMMAND sh -c
         "${CMAKE_SOURCE_DIR}/scripts/kafka start --dir '${kafka_dir}' >'${kafka_address}'")
add_test(NAME kafka.stop COMMAND sh -c
         "rm -f '${kafka_address}' && ${CMAKE_SOURCE_DIR}/scripts/kafka stop --dir '${kafka_dir}'")
set_tests_properties(kafka.start PROPERTIES LABELS sanitized FIXTURES_SETUP "kafka;kafka_and_postgres" TIMEOUT 300)
set_tests_properties(kafka.stop PROPERTIES LABELS sanitized FIXTURES_CLEANUP "kafka;kafka_and_postgres" TIMEOUT 60)

# One real PostgreSQL server, fresh in each run, for all tests with FIXTURES_REQUIRED postgres. The file postgres-url has
# its URL. Each test has a schema of its own. The user postgres can enter /tmp, but perhaps not the build folder.
set(postgres "${CMAKE_SOURCE_DIR}/scripts/postgres")
set(postgres_url ${CMAKE_BINARY_DIR}/postgres-url)
string(SHA256 postgres_id ${CMAKE_BINARY_DIR})
string(SUBSTRING ${postgres_id} 0 12 postgres_id)
set(postgres_dir_text "--dir /tmp/millrace-postgres-${postgres_id}")
add_test(NAME postgres.start COMMAND sh -c
         "${postgres} stop ${postgres_dir_text} && ${postgres} wipe ${postgres_dir_text} && ${postgres} start ${postgres_dir_text} >'${postgres_url}'")
add_test(NAME postgres.stop COMMAND sh -c "rm -f '${postgres_url}' && ${postgres} stop ${postgres_dir_text}")
set_tests_properties(postgres.start PROPERTIES LABELS sanitized FIXTURES_SETUP "postgres;kafka_and_postgres" TIMEOUT 120)
set_tests_properties(postgres.stop PROPERTIES LABELS sanitized FIXTURES_CLEANUP "postgres;kafka_and_postgres" TIMEOUT 60)

# One real S3 server for all tests with FIXTURES_REQUIRED s3. The file s3-url has its endpoint. Each test has a prefix of
# its own.
set(s3_dir ${CMAKE_BINARY_DIR}/s3)
set(s3_url ${CMAKE_BINARY_DIR}/s3-url)
add_test(NAME s3.start COMMAND sh -c "${CMAKE_SOURCE_DIR}/scripts/s3 start --dir '${s3_dir}' >'${s3_url}'")
add_test(NAME s3.stop COMMAND sh -c
         "rm -f '${s3_url}' && ${CMAKE_SOURCE_DIR}/scripts/s3 stop --dir '${s3_dir}' && ${CMAKE_SOURCE_DIR}/scripts/s3 wipe --dir '${s3_dir}'")
set_tests_properties(s3.start PROPERTIES LABELS sanitized FIXTURES_SETUP s3 TIMEOUT 300)
set_tests_properties(s3.stop PROPERTIES LABELS sanitized FIXTURES_CLEANUP s3 TIMEOUT 60)

if(NOT MILLRACE_SANITIZE)
  foreach(suite integration crash clients browser style)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${suite}/test_*.py)
    foreach(file ${files})
      get_filename_component(stem ${file} NAME_WE)
      add_test(NAME ${suite}.${stem}
               COMMAND ${MILLRACE_IN_OWN_SESSION} ${CMAKE_SOURCE_DIR}/scripts/pytest ${file}
               WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      # The longest tests start first; short ones fill the remaining time at the end.
      set_tests_properties(${suite}.${stem} PROPERTIES LABELS ${suite} TIMEOUT 600 COST ${MILLRACE_COST_${suite}}
                           PROCESSORS ${MILLRACE_SHARES_${suite}} ENVIRONMENT MILLRACE_BUILD=${CMAKE_BINARY_DIR})
    endforeach()
  endforeach()
  add_test(NAME docs.check_docs COMMAND ${CMAKE_SOURCE_DIR}/scripts/check-docs WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(docs.check_docs PROPERTIES LABELS docs TIMEOUT 900 PROCESSORS 2
                       COST ${MILLRACE_COST_integration} ENVIRONMENT MILLRACE_BUILD=${CMAKE_BINARY_DIR})
  # It starts first, because it mostly waits for packages. 77: this machine cannot run Docker's engine.
  add_test(NAME compose.test_compose COMMAND ${CMAKE_SOURCE_DIR}/scripts/test-compose)
  set_tests_properties(compose.test_compose PROPERTIES LABELS compose TIMEOUT 1200 COST 600 PROCESSORS 2 SKIP_RETURN_CODE 77
                       ENVIRONMENT MILLRACE_BUILD=${CMAKE_BINARY_DIR})
endif()
