# The CUDA toolkit: compiles anywhere the toolkit is, needs no GPU and no driver.

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
# `native` needs a GPU at configure time; these are the architectures that are tested.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
# One runtime in the whole program: static, so that it starts where no CUDA library is installed.
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
# CMake 3.25 knows no C++20 flag for nvcc newer than itself and would drop the standard silently.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
# As for C++ (Toolchain.cmake): fused only where the source says fma; IEEE division and square root,
# and no flush to zero, so that an optimizer step has the same bits on the device and on the host.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--ftz=false;--prec-div=true;--prec-sqrt=true>")
find_package(CUDAToolkit REQUIRED)
