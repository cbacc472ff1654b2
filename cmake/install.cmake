# Installation: the program with its manual page and completion, the libraries with their headers, the data, a CMake
# package and a pkg-config file.

set(libraries sim catalogue gpu cooling power fabric node collective traffic packet facility program workload convnet recommender compat import replay server)
list(TRANSFORM libraries PREPEND pw_)
set(real_libraries "")
foreach(library IN LISTS libraries)
  get_target_property(type ${library} TYPE)
  install(TARGETS ${library} EXPORT podwright ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    list(APPEND real_libraries ${library})
  endif()
endforeach()
add_library(pw_podwright INTERFACE)
set_target_properties(pw_podwright PROPERTIES EXPORT_NAME podwright)
target_link_libraries(pw_podwright INTERFACE ${libraries})
install(TARGETS pw_podwright EXPORT podwright)
install(EXPORT podwright NAMESPACE podwright:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/podwright FILE podwrightTargets.cmake)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/podwrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(WRITE ${PROJECT_BINARY_DIR}/podwrightConfig.cmake
"include(CMakeFindDependencyMacro)
find_dependency(ZLIB)
find_dependency(GSL)
include(\${CMAKE_CURRENT_LIST_DIR}/podwrightTargets.cmake)
")
install(FILES ${PROJECT_BINARY_DIR}/podwrightConfig.cmake ${PROJECT_BINARY_DIR}/podwrightConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/podwright)

set(archives ${real_libraries})
list(REVERSE archives)
list(TRANSFORM archives PREPEND "-l")
list(JOIN archives " " PODWRIGHT_ARCHIVES)
file(RELATIVE_PATH PODWRIGHT_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/podwright.pc.in ${PROJECT_BINARY_DIR}/podwright.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/podwright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(program podwright podwright-fit)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(DIRECTORY sim models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/podwright FILES_MATCHING PATTERN "*.h"
        PATTERN "data" EXCLUDE)
install(DIRECTORY models/catalogue/data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/podwright/data)
install(DIRECTORY tests/validation/ DESTINATION ${CMAKE_INSTALL_DATADIR}/podwright/validation)
install(DIRECTORY scenarios/studies DESTINATION ${CMAKE_INSTALL_DATADIR}/podwright/scenarios)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual page and the completion come out of the program's own tables.
if(TARGET podwright AND NOT CMAKE_CROSSCOMPILING)
  foreach(kind man completion)
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/podwright.${kind} DEPENDS podwright VERBATIM
                       COMMAND podwright help --${kind} > ${PROJECT_BINARY_DIR}/podwright.${kind})
  endforeach()
  add_custom_target(manual ALL DEPENDS ${PROJECT_BINARY_DIR}/podwright.man ${PROJECT_BINARY_DIR}/podwright.completion)
  install(FILES ${PROJECT_BINARY_DIR}/podwright.man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME podwright.1)
  install(FILES ${PROJECT_BINARY_DIR}/podwright.completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME podwright)
endif()
