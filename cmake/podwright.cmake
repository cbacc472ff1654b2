# How a folder becomes a library or a program. A folder's *.c are globbed; main.c is the program's entry, not the library's.

set(PODWRIGHT_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef
                       -Wno-missing-field-initializers)

function(podwright_flags target)
  # -ffp-contract=off is public: the same bits with every compiler and level (docs/decisions.md).
  target_compile_options(${target} PUBLIC -ffp-contract=off)
  # Messages name files as the source tree does, and no path of the building machine gets into a binary.
  target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_compile_options(${target} PRIVATE ${PODWRIGHT_WARNINGS} $<$<BOOL:${PODWRIGHT_WERROR}>:-Werror>)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE PODWRIGHT_VERSION="${PROJECT_VERSION}")
  if(PODWRIGHT_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${PODWRIGHT_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${PODWRIGHT_SANITIZE})
  endif()
  if(PODWRIGHT_COVERAGE)
    target_compile_options(${target} PUBLIC --coverage)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()

# podwright_library(name FOLDER path [DEPENDS libraries] [LINK libraries]): target pw_<name>.
function(podwright_library name)
  cmake_parse_arguments(arg "" "FOLDER" "DEPENDS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${arg_FOLDER}/*.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  list(TRANSFORM arg_DEPENDS PREPEND pw_)
  if(sources)
    add_library(pw_${name} STATIC ${sources})
    podwright_flags(pw_${name})
    target_include_directories(pw_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/podwright> PRIVATE ${CSV_INCLUDE_DIR}
                               ${LUA_INCLUDE_DIR} ${JANSSON_INCLUDE_DIR} ${YAML_INCLUDE_DIR}
                               ${EXPAT_INCLUDE_DIR})
    target_link_libraries(pw_${name} PUBLIC ${arg_DEPENDS} ${arg_LINK})
  else()
    add_library(pw_${name} INTERFACE)
    target_link_libraries(pw_${name} INTERFACE ${arg_DEPENDS} ${arg_LINK})
    target_include_directories(pw_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  endif()
endfunction()

# podwright_program(name MAIN folder DEPENDS libraries): builds folder/main.c.
function(podwright_program name)
  cmake_parse_arguments(arg "" "MAIN" "DEPENDS" ${ARGN})
  if(EXISTS ${PROJECT_SOURCE_DIR}/${arg_MAIN}/main.c)
    list(TRANSFORM arg_DEPENDS PREPEND pw_)
    add_executable(${name} ${arg_MAIN}/main.c)
    podwright_flags(${name})
    target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  endif()
endfunction()

# podwright_embed(library folder): each FOLDER/NAME.lua becomes `const char pw_embedded_NAME[]` and its size in the library.
function(podwright_embed library folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.lua)
  if(NOT sources OR NOT TARGET pw_${library})
    return()
  endif()
  set(text "#include <stddef.h>\n")
  foreach(source IN LISTS sources)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    get_filename_component(name ${source} NAME_WE)
    file(READ ${source} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND text "extern const char pw_embedded_${name}[];\nextern const size_t pw_embedded_${name}_size;\n"
                       "const char pw_embedded_${name}[] = {${bytes}0};\n"
                       "const size_t pw_embedded_${name}_size = sizeof pw_embedded_${name} - 1;\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded_${library}.c CONTENT "${text}" @ONLY)
  target_sources(pw_${library} PRIVATE ${PROJECT_BINARY_DIR}/embedded_${library}.c)
endfunction()
