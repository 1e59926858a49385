# The pinned upstream releases and their download.
#
# As a script this file fills a directory, for machines without internet access (compute nodes, an air-gapped site):
#
#   cmake -D TESSERA_DOWNLOADS=DIR -P cmake/TesseraDownloads.cmake      the default releases
#   cmake -D TESSERA_DOWNLOADS=DIR -D TESSERA_KOKKOS_RELEASE=4.6.01 -D TESSERA_DOWNLOAD_KOKKOS_KERNELS=ON -P ...
#
# TESSERA_DOWNLOAD_ONLY=kokkos, or a list, fetches only these.
#
# Configuring with -D TESSERA_DOWNLOADS=DIR takes the archives from there. An archive is used only if its SHA-256 is the
# pinned one.

cmake_minimum_required(VERSION 3.22)

set(TESSERA_KOKKOS_RELEASE "5.1.1" CACHE STRING "Release of Kokkos and Kokkos Kernels to fetch where none is installed")
set(TESSERA_DOWNLOADS "" CACHE PATH "Directory of downloaded archives: looked in first, and filled")

# tessera_pin(name version url sha256): the archive is stored as <name>-<version>.tar.gz. Several versions of one name
# may be pinned. The last one is used, unless TESSERA_KOKKOS_RELEASE names another.
function(tessera_pin name version url sha256)
  set(tessera_pin_${name}_${version} "${url};${sha256}" PARENT_SCOPE)
  set(tessera_pin_${name} "${version}" PARENT_SCOPE)
endfunction()

set(kokkos_releases https://github.com/kokkos)
tessera_pin(kokkos 4.6.01 ${kokkos_releases}/kokkos/releases/download/4.6.01/kokkos-4.6.01.tar.gz
            b9d70e4653b87a06dbb48d63291bf248058c7c7db4bd91979676ad5609bb1a3a)
tessera_pin(kokkos 5.1.1 ${kokkos_releases}/kokkos/releases/download/5.1.1/kokkos-5.1.1.tar.gz
            8bdbee0f0ac383436743ad8a9e3e928705b34b31a25a92dc5179c52a3aa98519)
tessera_pin(kokkos-kernels 4.6.01
            ${kokkos_releases}/kokkos-kernels/releases/download/4.6.01/kokkos-kernels-4.6.01.tar.gz
            95b9357f37ab3b9c3913c00741acb2501831c28ea8664de67818ae79c69c5908)
tessera_pin(kokkos-kernels 5.1.1 ${kokkos_releases}/kokkos-kernels/releases/download/5.1.1/kokkos-kernels-5.1.1.tar.gz
            4415c2a6e14e2bba9aa978917d2ffbcbe32760d3aba3a33bf7a267d50e7e20c9)
tessera_pin(hdf5 1.14.6 https://support.hdfgroup.org/releases/hdf5/v1_14/v1_14_6/downloads/hdf5-1.14.6.tar.gz
            e4defbac30f50d64e1556374aa49e574417c9e72c6b1de7a4ff88c4b1bea6e9b)
tessera_pin(CLI11 2.5.0 https://github.com/CLIUtils/CLI11/archive/v2.5.0.tar.gz
            17e02b4cddc2fa348e5dbdbb582c59a3486fa2b2433e70a0c3bacb871334fd55)
tessera_pin(nlohmann_json 3.12.0 https://github.com/nlohmann/json/archive/v3.12.0.tar.gz
            4b92eb0c06d10683f7447ce9406cb97cd4b453be18d7279320f7b2f025c10187)
tessera_pin(googletest 1.17.0 https://github.com/google/googletest/archive/refs/tags/v1.17.0.tar.gz
            65fab701d9829d38cb77c14acdc431d2108bfdbf8979e40eb8ae567edf10b27c)

set(tessera_pin_kokkos ${TESSERA_KOKKOS_RELEASE})
set(tessera_pin_kokkos-kernels ${TESSERA_KOKKOS_RELEASE})
if(NOT tessera_pin_kokkos_${TESSERA_KOKKOS_RELEASE})
  message(FATAL_ERROR "TESSERA_KOKKOS_RELEASE is '${TESSERA_KOKKOS_RELEASE}' (no such pin); choose 5.1.1 or 4.6.01")
endif()

# tessera_reachable(url out): whether the server answers within seconds. file(DOWNLOAD) can wait minutes for a
# connection, so this request has limits on everything and accepts any answer, complete or not.
function(tessera_reachable url out)
  file(DOWNLOAD ${url} TIMEOUT 6 STATUS status LOG log)
  list(GET status 0 code)
  if(code EQUAL 0 OR (code EQUAL 28 AND log MATCHES "HTTP/[0-9.]+ (200|30[0-9])"))
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# tessera_archive(name file reason): returns the path of the pinned archive, downloading it if necessary; or an empty
# path and the reason.
function(tessera_archive name file reason)
  set(version ${tessera_pin_${name}})
  list(GET tessera_pin_${name}_${version} 0 url)
  list(GET tessera_pin_${name}_${version} 1 sha256)
  set(directory ${TESSERA_DOWNLOADS})
  if(NOT directory)
    set(directory ${CMAKE_BINARY_DIR}/_downloads)
  endif()
  get_filename_component(directory ${directory} ABSOLUTE)
  set(archive ${directory}/${name}-${version}.tar.gz)
  set(${file} "" PARENT_SCOPE)

  if(EXISTS ${archive})
    file(SHA256 ${archive} found)
    if(found STREQUAL sha256)
      set(${file} ${archive} PARENT_SCOPE)
    else()
      set(${reason} "${archive} is not the pinned archive (SHA-256 ${found}, not ${sha256}); remove it" PARENT_SCOPE)
    endif()
    return()
  endif()

  tessera_reachable(${url} reachable)
  if(NOT reachable)
    set(${reason} "${url} does not answer, and ${archive} is not there" PARENT_SCOPE)
    return()
  endif()
  message(STATUS "Downloading ${name} ${version}")
  file(DOWNLOAD ${url} ${archive}.part TIMEOUT 600 INACTIVITY_TIMEOUT 20 STATUS status)
  list(GET status 0 code)
  if(NOT code EQUAL 0)
    list(GET status 1 text)
    file(REMOVE ${archive}.part)
    set(${reason} "${url}: ${text}" PARENT_SCOPE)
    return()
  endif()
  file(SHA256 ${archive}.part found)
  if(NOT found STREQUAL sha256)
    file(REMOVE ${archive}.part)
    set(${reason} "${url} is not what was pinned (SHA-256 ${found}, not ${sha256})" PARENT_SCOPE)
    return()
  endif()
  file(RENAME ${archive}.part ${archive})
  set(${file} ${archive} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(NOT TESSERA_DOWNLOADS)
    message(FATAL_ERROR "TESSERA_DOWNLOADS is not set (where to put the archives); "
                        "say cmake -D TESSERA_DOWNLOADS=DIR -P ...")
  endif()
  set(names kokkos hdf5 CLI11 nlohmann_json googletest)
  if(TESSERA_DOWNLOAD_KOKKOS_KERNELS)
    list(APPEND names kokkos-kernels)
  endif()
  if(TESSERA_DOWNLOAD_ONLY)
    set(names ${TESSERA_DOWNLOAD_ONLY})
  endif()
  foreach(name IN LISTS names)
    tessera_archive(${name} file reason)
    if(NOT file)
      message(FATAL_ERROR "${reason}")  # at the first: where one server does not answer, the others need not be asked
    endif()
    message(STATUS "${file}")
  endforeach()
endif()
