# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiler flags of every target, and the two functions that layers and tests are declared with.
add_library(cuzk_flags INTERFACE)
target_compile_definitions(cuzk_flags INTERFACE _GNU_SOURCE $<$<BOOL:${CUZK_VERIFY}>:CUZK_BUILD_VERIFY>)
target_compile_options(cuzk_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wvla> -fno-strict-aliasing -fstack-protector-strong
  $<$<BOOL:${CUZK_WERROR}>:-Werror>)
target_include_directories(cuzk_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(cuzk_flags INTERFACE Threads::Threads)
if(CUZK_SANITIZE)
  target_compile_options(cuzk_flags INTERFACE -fsanitize=${CUZK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(cuzk_flags INTERFACE -fsanitize=${CUZK_SANITIZE})
endif()
if(CUZK_COVERAGE)
  target_compile_options(cuzk_flags INTERFACE --coverage)
  target_link_options(cuzk_flags INTERFACE --coverage)
endif()

# cuzk_layer(NAME SOURCES file... [DEPS layer...]): the static library cuzk_NAME.
function(cuzk_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;DEPS" ${ARGN})
  add_library(cuzk_${name} STATIC ${L_SOURCES})
  target_link_libraries(cuzk_${name} PUBLIC cuzk_flags)
  foreach(d ${L_DEPS})
    target_link_libraries(cuzk_${name} PUBLIC cuzk_${d})
  endforeach()
endfunction()

# cuzk_test(NAME SOURCES file... LAYERS layer... [LABELS label...] [TIMEOUT seconds]): a cmocka program and its ctest entry.
function(cuzk_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LAYERS;LABELS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE CUZK_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(${name} PRIVATE cuzk_flags cmocka)
  foreach(l ${T_LAYERS})
    target_link_libraries(${name} PRIVATE cuzk_${l})
  endforeach()
  add_test(NAME ${name} COMMAND ${name})
  set(labels unit)
  if(T_LABELS)
    set(labels ${T_LABELS})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
  if(T_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT})
  endif()
endfunction()
