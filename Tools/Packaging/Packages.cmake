# Packages by CPack (Tools/Developer/package makes all of them):
#   DEB  tessera (programs, parameter files, documents), tessera-bench, libtessera-dev (the libraries)
# and, with TESSERA_RELOCATABLE, with the shared libraries beside the programs in lib/tessera:
#   DEB  tessera-with-libraries (the same as tessera), which needs no packages but those of glibc and libgcc
#   TXZ  an archive, which runs wherever it is unpacked
set(programs tessera tessera-transform tessera-landmarks tessera-compare tessera-follow tessera-cohort tessera-spgemm tessera-phantom tessera-bench)
foreach(program IN LISTS programs)
  set(page ${PROJECT_BINARY_DIR}/man/${program}.1.gz)
  add_custom_command(OUTPUT ${page} DEPENDS ${program} ${CMAKE_CURRENT_LIST_DIR}/man-page ${PROJECT_SOURCE_DIR}/README.md
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/man-page $<TARGET_FILE:${program}> ${PROJECT_VERSION} | gzip -9n > ${page} VERBATIM)
  list(APPEND pages ${page})
  set(component programs)
  if(program STREQUAL "tessera-bench")
    set(component bench)
  endif()
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/tessera.bash-completion RENAME ${program}   # bash looks for a file of the program's name
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ${component})
endforeach()
add_custom_target(manual_pages ALL DEPENDS ${pages})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/_tessera DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT programs)

if(TESSERA_RELOCATABLE)
  # glibc and libgcc come with the system, whose versions may be older than the build's: Tools/Developer/package says how old.
  install(RUNTIME_DEPENDENCY_SET shared_libraries COMPONENT programs DESTINATION lib/tessera
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|gcc_s)\\.so" "^libcuda\\.so" "^libcurl\\.so" "^libarc4random\\.so")
  add_library(no_network SHARED ${CMAKE_CURRENT_LIST_DIR}/NoNetwork.c)
  set_target_properties(no_network PROPERTIES OUTPUT_NAME curl SOVERSION 4)
  target_link_options(no_network PRIVATE LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/NoNetwork.map)
  add_library(arc4random SHARED ${CMAKE_CURRENT_LIST_DIR}/Arc4Random.c)
  target_link_options(arc4random PRIVATE LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/Arc4Random.map)
  install(TARGETS no_network arc4random LIBRARY NAMELINK_SKIP COMPONENT programs DESTINATION lib/tessera)
  set(lower ${CMAKE_CURRENT_LIST_DIR}/lower-needed-versions)
  install(CODE "execute_process(COMMAND ${lower} \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/tessera COMMAND_ERROR_IS_FATAL ANY)" COMPONENT programs)
endif()

# Debian asks each package for these two files.
set(changelog ${PROJECT_BINARY_DIR}/changelog.gz)
add_custom_command(OUTPUT ${changelog} DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md > ${changelog} VERBATIM)
add_custom_target(packaged_changelog ALL DEPENDS ${changelog})
foreach(pair "programs:tessera" "bench:tessera-bench" "development:libtessera-dev")
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  install(FILES ${changelog} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()

set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "Tessera")
set(CPACK_PACKAGE_CONTACT "Tessera maintainers <maintainers@tessera.example>" CACHE STRING "Maintainer of packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "registration of medical images from elastix parameter files")
set(CPACK_PACKAGE_FILE_NAME "tessera-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL programs bench development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME tessera)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_BENCH_PACKAGE_NAME tessera-bench)
set(CPACK_DEBIAN_BENCH_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtessera-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "tessera, libinsighttoolkit5-dev, libfftw3-dev, libisal-dev, libssl-dev, nlohmann-json3-dev")   # for COMPONENTS Runs
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "Registers medical images as elastix parameter files say,
resamples images and points, and multiplies sparse matrices,
on CPUs and on NVIDIA GPUs.")
set(CPACK_COMPONENT_BENCH_DESCRIPTION "Measures the kernels of Tessera beside the limits of the machine.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Libraries for other programs: find_package(Tessera) has Tessera::sparse for
products of sparse matrices; with COMPONENTS Runs it has Tessera::runs and
Tessera::components for registrations.")
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
if(TESSERA_RELOCATABLE)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME tessera-with-libraries)
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "libc6 (>= 2.34), libgcc-s1")
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_PROVIDES tessera)
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONFLICTS tessera)
endif()
include(CPack)
