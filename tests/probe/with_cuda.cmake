# SPDX-License-Identifier: MIT
# Tests that need CUDA's compiler, and no GPU. Included by cuda_probe/CMakeLists.txt.

# The real compiled CUDA unit on a runtime of the tests' own: whatever call fails, the program says so and holds nothing.
add_executable(llmres_probe_fake_cuda
  $<TARGET_OBJECTS:llmres_probe_cuda> "${CMAKE_CURRENT_LIST_DIR}/fake_cudart.cpp")
set_target_properties(llmres_probe_fake_cuda PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(llmres_probe_fake_cuda PRIVATE llmres_probe_program)
target_include_directories(llmres_probe_fake_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
# The libraries beside it, as they are called, in a folder of their own; they count their calls with the runtime's.
set_target_properties(llmres_probe_fake_cuda PROPERTIES ENABLE_EXPORTS ON)
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/fake_cudart.cpp" PROPERTIES COMPILE_OPTIONS -O2)
foreach(library IN ITEMS libcublasLt.so.13=cublas libnccl.so.2=nccl libnvidia-ml.so.1=nvml)
  string(REGEX MATCH "(.*)=(.*)" called "${library}")
  set(called ${CMAKE_MATCH_1})
  set(source ${CMAKE_MATCH_2})
  add_library(llmres_fake_${called} SHARED "${CMAKE_CURRENT_LIST_DIR}/fake_${source}.cpp")
  target_link_libraries(llmres_fake_${called} PRIVATE llmres::llmres)
  target_include_directories(llmres_fake_${called} PRIVATE "${llmres_probe_dir}")
  target_compile_options(llmres_fake_${called} PRIVATE -O2)
  set_target_properties(llmres_fake_${called} PROPERTIES
    PREFIX "" OUTPUT_NAME ${called} SUFFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/fake_libraries")
endforeach()
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME probe_every_call_fails
    COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/fail_calls.py" $<TARGET_FILE:llmres_probe_fake_cuda>
      "${CMAKE_CURRENT_BINARY_DIR}/fake_libraries")
  set_tests_properties(probe_every_call_fails PROPERTIES TIMEOUT 600)
  add_test(NAME probe_rounding_to_granules_agrees
    COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_granules.py" $<TARGET_FILE:llmres_probe_fake_cuda>
      "${CMAKE_CURRENT_BINARY_DIR}/fake_libraries")
endif()

# Our declarations of NVIDIA's libraries against its headers, those that are here. nvml.h comes with PyPI's
# nvidia-nvml-dev, too, which .ci/setup installs.
find_path(LLMRES_NVML_INCLUDE_DIR nvml.h HINTS ${CUDAToolkit_INCLUDE_DIRS} "${PROJECT_SOURCE_DIR}/build/nvidia/nvidia/cu13/include"
  DOC "The folder of nvml.h")
mark_as_advanced(LLMRES_NVML_INCLUDE_DIR)
add_library(llmres_probe_vendor_abi OBJECT "${CMAKE_CURRENT_LIST_DIR}/vendor_abi.cpp")
target_link_libraries(llmres_probe_vendor_abi PRIVATE llmres_probe_host)
target_include_directories(llmres_probe_vendor_abi SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
if(LLMRES_NVML_INCLUDE_DIR)
  target_include_directories(llmres_probe_vendor_abi SYSTEM PRIVATE "${LLMRES_NVML_INCLUDE_DIR}")
else()
  message(WARNING "nvml.h was not found: NVML's declarations are not held against NVIDIA's")
endif()

# The real program, on whatever machine this is.
add_test(NAME probe_starts COMMAND llmres-probe --version)
add_test(NAME probe_describes_or_says_no_device
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:llmres-probe> -P "${CMAKE_CURRENT_LIST_DIR}/check_describe.cmake")
add_test(NAME probe_refuses_what_is_no_plan
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:llmres-probe> -DPLAN=${PROJECT_SOURCE_DIR}/tests/data/devices/synthetic-rtx-4090.json
    -P "${CMAKE_CURRENT_LIST_DIR}/check_refusal.cmake")
