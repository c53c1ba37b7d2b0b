# tests/fuzz/<target>.cpp → fuzz_<target>, a libFuzzer program. scripts/fuzz builds and runs them.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "The fuzz targets need clang: use the preset fuzz")
endif()
add_custom_target(fuzz_targets)

# millrace_fuzz(TARGET [USES module…] [SOURCES pattern…]): SOURCES are product sources whose modules are not in USES. It
# saves most of the build time to build only these.
function(millrace_fuzz target)
  cmake_parse_arguments(ARG "" "" "USES;SOURCES" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/${target}.cpp ${ARG_SOURCES})
  add_executable(fuzz_${target} ${sources})
  target_precompile_headers(fuzz_${target} REUSE_FROM millrace_pch)
  target_compile_options(fuzz_${target} PRIVATE -Werror)
  target_link_libraries(fuzz_${target} PRIVATE millrace_flags)
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  foreach(module base ${ARG_USES})
    target_link_libraries(fuzz_${target} PRIVATE millrace_${module})
  endforeach()
  add_dependencies(fuzz_targets fuzz_${target})
endfunction()

millrace_fuzz(http SOURCES api/front/framing.cpp api/front/chunked.cpp)
