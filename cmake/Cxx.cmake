# C++ for the examples and tests of uvhttp.hpp. The libraries and the program are C, so building
# only them needs no C++ compiler. Without one UVHTTP_HAVE_CXX is off, and the examples in C++ are
# left out. The tests require one.

include(CheckLanguage)
check_language(CXX)
set(UVHTTP_HAVE_CXX OFF)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    set(UVHTTP_HAVE_CXX ON)
elseif(BUILD_TESTING)
    message(FATAL_ERROR "A C++ compiler is missing (Debian package: g++; or -DBUILD_TESTING=OFF)")
else()
    # So that the next configuration searches again.
    unset(CMAKE_CXX_COMPILER CACHE)
endif()
