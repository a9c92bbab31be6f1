# NCCL 2.28 or newer (pip: nvidia-nccl-cu13): its header, and where its library is. The program opens
# the library when ranks on several GPUs first need it, from SLUICE_NCCL, the loader's own path or
# else from where it was found here, so nothing links against it. Without the header it is built for
# one GPU.
execute_process(COMMAND python3 -c "import nvidia.nccl as nccl; print(list(nccl.__path__)[0])"
                OUTPUT_VARIABLE nccl_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_path(NCCL_INCLUDE_DIR nccl.h
          HINTS ${NCCL_ROOT} $ENV{NCCL_ROOT} ${nccl_wheel} ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES libnccl.so.2
             HINTS ${NCCL_ROOT} $ENV{NCCL_ROOT} ${nccl_wheel} ${CUDAToolkit_LIBRARY_DIR}
                   ${CUDAToolkit_LIBRARY_ROOT}
             PATH_SUFFIXES lib lib64)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
if(NOT NCCL_INCLUDE_DIR)
  message(STATUS "NCCL's header is missing: no ranks on several GPUs (name its folder in -DNCCL_ROOT=)")
endif()
