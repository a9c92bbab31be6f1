# cuDNN 9 (Debian: libcudnn9-dev-cuda-13, pip: nvidia-cudnn-cu13): its headers, and where its library
# is. The program opens the library when it first needs it, from the loader's own path or else from
# where it was found here, so nothing links against it.
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h
          HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES include)
if(NOT CUDNN_INCLUDE_DIR)
  message(FATAL_ERROR "SLUICE_CUDA=ON needs cuDNN 9: name its folder in -DCUDNN_ROOT=")
endif()
find_library(CUDNN_LIBRARY NAMES libcudnn.so.9
             HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_LIBRARY_DIR}
                   ${CUDAToolkit_LIBRARY_ROOT}
             PATH_SUFFIXES lib lib64)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
