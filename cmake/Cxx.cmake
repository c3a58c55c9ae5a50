# C++ for what is written in it: the examples and the tests of uvhttp.hpp. The libraries and the
# program are C, and whoever builds only them needs no C++ compiler: then UVHTTP_HAVE_CXX is off and
# those examples are left out. The tests demand one.

include(CheckLanguage)
check_language(CXX)
set(UVHTTP_HAVE_CXX OFF)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    set(UVHTTP_HAVE_CXX ON)
elseif(BUILD_TESTING)
    message(FATAL_ERROR "A C++ compiler is missing (Debian package: g++; or -DBUILD_TESTING=OFF)")
else()
    # Looked for again the next time.
    unset(CMAKE_CXX_COMPILER CACHE)
endif()
