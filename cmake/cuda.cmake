# SPDX-License-Identifier: MIT OR Apache-2.0
# Is the CUDA backend part of the build? Sets CUZK_WITH_CUDA, CUZK_NVCC and CUZK_CUDART.
set(CUZK_BACKEND_CUDA AUTO CACHE STRING "CUDA backend: ON, OFF, or AUTO (where nvcc and the static runtime are found)")
set_property(CACHE CUZK_BACKEND_CUDA PROPERTY STRINGS AUTO ON OFF)
set(CUZK_CUDA_ARCHITECTURES 75 80 86 89 90 100 120 CACHE STRING "Compute capabilities to compile kernels for, ascending")
set(CUZK_WITH_CUDA FALSE)
if(NOT CUZK_BACKEND_CUDA STREQUAL "OFF")
  find_program(CUZK_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin DOC "The CUDA compiler")
  if(CUZK_NVCC)
    get_filename_component(cuda_root ${CUZK_NVCC} REALPATH)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
    find_library(CUZK_CUDART NAMES libcudart_static.a HINTS ${cuda_root}/.. PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib
      targets/sbsa-linux/lib DOC "The static CUDA runtime")
  endif()
  if(CUZK_NVCC AND CUZK_CUDART)
    set(CUZK_WITH_CUDA TRUE)
  elseif(CUZK_BACKEND_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CUZK_BACKEND_CUDA is ON, but nvcc or libcudart_static.a was not found (CUDA_HOME, CUZK_NVCC, CUZK_CUDART)")
  endif()
endif()
if(CUZK_SANITIZE AND CUZK_WITH_CUDA AND CUZK_BACKEND_CUDA STREQUAL "AUTO")
  set(CUZK_WITH_CUDA FALSE) # nvcc's host code is not instrumented
endif()
