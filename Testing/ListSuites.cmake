# Run after PROGRAM, a program of GoogleTest, was linked: writes LIST, in which each of its suites is one test of ctest. A program
# takes 50 ms to start, so one for each test would take longer than the tests. A suite counts as skipped if all of its tests were.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE tests COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+[.]" suites "\n${tests}")
if(NOT suites)
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
set(content "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  set(name ${suite})
  if(LABELS MATCHES gpu)
    string(APPEND name OnGpu) # tests that are about both devices are in two programs
  endif()
  string(APPEND content "add_test(${name} [==[${PROGRAM}]==] --gtest_filter=${suite}.*)
set_tests_properties(${name} PROPERTIES LABELS \"${LABELS}\" TIMEOUT ${SECONDS} SKIP_REGULAR_EXPRESSION
  [==[  PASSED  . 0 tests[.]\n.  SKIPPED . [0-9]+ tests?, listed below:\n(.  SKIPPED . [^\n]+\n)+$]==])\n")
endforeach()
file(WRITE ${LIST} "${content}")
