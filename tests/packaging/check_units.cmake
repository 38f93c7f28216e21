# Installs the daemon's service files into a folder, lets systemd check them, and installs them again over
# an edited configuration.
#
#   cmake -DBUILD_DIR=... -DPROGRAM=... -DWORK_DIR=... -P check_units.cmake
cmake_minimum_required(VERSION 3.24)

find_program(analyze systemd-analyze)
find_program(sysusers systemd-sysusers)
if(NOT analyze OR NOT sysusers)
  message(FATAL_ERROR "systemd-analyze or systemd-sysusers is missing: apt-get install systemd")
endif()

# Sets `out` to what systemd has to say of the units in `folder`. An unknown key is a line, not a code.
function(verify folder out)
  execute_process(
    COMMAND ${analyze} verify --man=no ${folder}/deepinferd.service ${folder}/deepinferd.socket
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE code
  )
  if(NOT code EQUAL 0)
    string(APPEND output "exit code ${code}")
  endif()
  set(${out} "${output}${errors}" PARENT_SCOPE)
endfunction()

function(install_files)
  execute_process(
    COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR}/packaging --prefix ${WORK_DIR}/root --component
            daemon
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
  )
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
install_files()

# The program is not installed here: the unit names the one that was built.
set(units ${WORK_DIR}/root/lib/systemd/system)
file(READ ${units}/deepinferd.service unit)
string(REGEX REPLACE "ExecStart=[^ ]*/deepinferd " "ExecStart=${PROGRAM} " unit "${unit}")
if(NOT unit MATCHES "ExecStart=${PROGRAM} --config /[^\n]*/deepinfer/deepinferd.toml\n")
  message(FATAL_ERROR "deepinferd.service: an ExecStart= that this test does not know:\n${unit}")
endif()
file(WRITE ${units}/deepinferd.service "${unit}")
verify(${units} found)
if(found)
  message(FATAL_ERROR "systemd-analyze verify:\n${found}")
endif()

# The check finds what it is for.
file(COPY ${units}/ DESTINATION ${WORK_DIR}/wrong)
file(APPEND ${WORK_DIR}/wrong/deepinferd.socket "[Socket]\nListenSequentialPackets=/run/x\n")
verify(${WORK_DIR}/wrong found)
if(NOT found MATCHES "ListenSequentialPackets")
  message(FATAL_ERROR "systemd-analyze verify does not see an unknown key: ${found}")
endif()

execute_process(
  COMMAND ${sysusers} --root=${WORK_DIR}/root
          ${WORK_DIR}/root/lib/sysusers.d/deepinferd.conf COMMAND_ERROR_IS_FATAL ANY
  OUTPUT_QUIET ERROR_QUIET
)
foreach(list IN ITEMS passwd group)
  file(STRINGS ${WORK_DIR}/root/etc/${list} users REGEX "^deepinfer:")
  if(NOT users)
    message(FATAL_ERROR "systemd-sysusers made no deepinfer in ${list}")
  endif()
endforeach()

set(configuration ${WORK_DIR}/root/etc/deepinfer/deepinferd.toml)
file(WRITE ${configuration} "# edited\n")
install_files()
file(READ ${configuration} text)
if(NOT text STREQUAL "# edited\n")
  message(FATAL_ERROR "a second installation overwrote ${configuration}")
endif()
