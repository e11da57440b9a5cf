# SPDX-License-Identifier: MIT
# The probe's host side: everything but the CUDA translation unit and main(). Included by the probe itself and by its
# tests, whichever comes first.
include_guard(GLOBAL)

find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)

set(llmres_probe_dir "${CMAKE_CURRENT_LIST_DIR}")
# What decides: no command line, no stdout, and the device behind an interface.
add_library(llmres_probe_host STATIC
  "${llmres_probe_dir}/alloc.cpp"
  "${llmres_probe_dir}/measure.cpp"
  "${llmres_probe_dir}/nvml.cpp"
  "${llmres_probe_dir}/replay.cpp"
  "${llmres_probe_dir}/report.cpp"
  "${llmres_probe_dir}/search.cpp"
  "${llmres_probe_dir}/tested_plan.cpp")
target_include_directories(llmres_probe_host PUBLIC "${llmres_probe_dir}")
target_link_libraries(llmres_probe_host PUBLIC llmres::llmres llmres::io fmt::fmt-header-only ${CMAKE_DL_LIBS})

# The program without a device: what links this defines make_cuda().
add_library(llmres_probe_program STATIC
  "${llmres_probe_dir}/alloc_command.cpp"
  "${llmres_probe_dir}/common.cpp"
  "${llmres_probe_dir}/describe_command.cpp"
  "${llmres_probe_dir}/job_commands.cpp"
  "${llmres_probe_dir}/main.cpp")
target_link_libraries(llmres_probe_program PUBLIC llmres_probe_host PRIVATE CLI11::CLI11)
# Files that read the same headers: as one they build in a third of the time.
set_target_properties(llmres_probe_host llmres_probe_program PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
