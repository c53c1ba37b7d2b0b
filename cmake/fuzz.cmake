# tests/fuzz/<target>.cpp → fuzz_<target>, a libFuzzer program. scripts/fuzz builds and runs them.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "The fuzz targets need clang: use the preset fuzz")
endif()
add_custom_target(fuzz_targets)

# millrace_fuzz(TARGET [USES module…] [SOURCES pattern…] [PACKAGES pkg…]): SOURCES are product sources whose modules are not in USES. It
# saves most of the build time to build only these.
function(millrace_fuzz target)
  cmake_parse_arguments(ARG "" "" "USES;SOURCES;PACKAGES" ${ARGN})
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
  foreach(package ${ARG_PACKAGES})
    target_link_libraries(fuzz_${target} PRIVATE pkg_${package})
  endforeach()
  add_dependencies(fuzz_targets fuzz_${target})
endfunction()

millrace_fuzz(http SOURCES api/front/framing.cpp api/front/chunked.cpp)
millrace_fuzz(multipart SOURCES api/front/multipart.cpp)
millrace_fuzz(sse SOURCES platform/net/sse_reader.cpp)
millrace_fuzz(ssh_key SOURCES machines/keys/public_key.cpp machines/keys/ssh_wire.cpp PACKAGES openssl)
millrace_fuzz(stream USES providers PACKAGES json)
millrace_fuzz(reply USES providers PACKAGES json)
millrace_fuzz(mcp USES providers SOURCES ai/inference/mcp/messages.cpp ai/inference/mcp/channel.cpp ai/inference/mcp/stream.cpp
              PACKAGES json)
millrace_fuzz(chat USES providers PACKAGES json)
millrace_fuzz(data_uri USES providers PACKAGES json)
millrace_fuzz(request USES schemas PACKAGES json)
millrace_fuzz(header USES front SOURCES api/headers.cpp)
millrace_fuzz(config USES providers SOURCES app/config/settings_table.cpp app/config/models_section.cpp
              app/config/machines_section.cpp app/config/section_map.cpp app/config/key_source.cpp app/litellm/*.cpp
              ai/inference/routing/registry.cpp
              PACKAGES json)
