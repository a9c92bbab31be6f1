# The trial of cudnn-frontend: the room of attention with cuDNN's layer from experiments/cudnn_frontend. Included by
# engine/cuda/CMakeLists.txt if SLUICE_CUDNN_FRONTEND_INCLUDE names the library's headers.
if(NOT EXISTS ${SLUICE_CUDNN_FRONTEND_INCLUDE}/cudnn_frontend.h)
  message(FATAL_ERROR "SLUICE_CUDNN_FRONTEND_INCLUDE: no cudnn_frontend.h in ${SLUICE_CUDNN_FRONTEND_INCLUDE}")
endif()
set(layer ${CMAKE_SOURCE_DIR}/experiments/cudnn_frontend/engine/cuda/attention)
set(cudnn_frontend_source ${layer}/cudnn.cpp)
get_target_property(sources sluice_engine_attention SOURCES)
list(FILTER sources EXCLUDE REGEX "/(attention_composer|attention_graph|cudnn|cudnn_graph|cudnn_plan)\\.cpp$")
list(APPEND sources ${layer}/attention_composer.cpp ${layer}/attention_graph.cpp ${layer}/cudnn.cpp ${layer}/cudnn_plan.cpp)
set_target_properties(sluice_engine_attention PROPERTIES SOURCES "${sources}")
target_include_directories(sluice_engine_attention SYSTEM PRIVATE ${SLUICE_CUDNN_FRONTEND_INCLUDE})
# The library is opened at run time; without JSON and logging its headers compile faster.
target_compile_definitions(sluice_engine_attention PRIVATE NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
  NV_CUDNN_FRONTEND_DISABLE_LOGGING CUDNN_FRONTEND_SKIP_JSON_LIB)
