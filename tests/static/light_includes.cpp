// SPDX-License-Identifier: MIT
// What plan.hpp must not include: headers that took a third of its cost before they were found.
#include <llmres/plan.hpp>

#if defined(BOOST_CONFIG_HPP)
#error "plan.hpp includes a header of Boost: values/dimensions.hpp declares what it needs of Boost.Units"
#endif
#if defined(_GLIBCXX_STRING) || defined(_GLIBCXX_CMATH) || defined(_GLIBCXX_ALGORITHM) ||                         \
    defined(_GLIBCXX_FUNCTIONAL) || defined(_GLIBCXX_TUPLE) || defined(_GLIBCXX_OPTIONAL) ||                      \
    defined(_GLIBCXX_VARIANT) || defined(_GLIBCXX_MEMORY) || defined(_GLIBCXX_VECTOR) || defined(_GLIBCXX_MAP) || \
    defined(_GLIBCXX_NUMERIC_LIMITS)
#error "plan.hpp includes a header of the standard library that only texts and files need, such as <string>"
#endif
