# SPDX-License-Identifier: MIT
# llmres::compiled: plan(), fits() and search() of <llmres/answers/plan_call.hpp>, compiled once, with the consumer's own
# compiler and options. Built only where something links it.
if(NOT TARGET llmres_compiled)
  find_package(Threads REQUIRED)  # a search may be shared by several
  add_library(llmres_compiled STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/llmres-compiled.cpp")
  add_library(llmres::compiled ALIAS llmres_compiled)
  set_target_properties(llmres_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(llmres_compiled PUBLIC llmres::llmres Threads::Threads)
endif()
