// SPDX-License-Identifier: MIT
// What every value of the vocabulary promises: it can be copied byte by byte, stands in a template argument, and has
// the layout of a C struct. Only compiled.
#include <llmres/hardware/gpu.hpp>
#include <llmres/hardware/interconnect.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

using namespace llmres;

namespace {

template <auto Value>
struct takes_a_value {};

/// Structural: the type of a template parameter. It needs a constant to show it.
template <class T>
concept structural = requires { typename takes_a_value<T{}>; };

template <class T>
concept plain_value =
    std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && std::is_trivially_destructible_v<T> &&
    std::is_nothrow_default_constructible_v<T> && structural<T>;

static_assert(plain_value<byte_count> && plain_value<bit_count> && plain_value<token_count>);
static_assert(plain_value<parameter_count> && plain_value<bytes_per_token> && plain_value<flop_count>);
static_assert(plain_value<duration> && plain_value<frequency> && plain_value<byte_rate>);
static_assert(plain_value<flop_rate> && plain_value<token_rate> && plain_value<power>);
static_assert(plain_value<energy> && plain_value<money>);
static_assert(plain_value<text<31>> && plain_value<maybe<int>> && plain_value<maybe<byte_count>>);
static_assert(plain_value<tile> && plain_value<precision>);
static_assert(plain_value<compute_capability> && plain_value<gpu_memory> && plain_value<gpu_rates>);
static_assert(plain_value<gpu_links> && plain_value<gpu> && plain_value<llmres::link>);
static_assert(plain_value<error> && plain_value<done>);
static_assert(std::is_trivially_copyable_v<result<byte_count>> && std::is_trivially_copyable_v<status>);

// A quantity costs what its number costs.
static_assert(sizeof(byte_count) == sizeof(std::int64_t) && alignof(byte_count) == alignof(std::int64_t));
static_assert(sizeof(duration) == sizeof(double));
static_assert(std::three_way_comparable<byte_count, std::strong_ordering>);
static_assert(std::three_way_comparable<duration, std::partial_ordering>);

// What is refused is refused where it can be asked: no requires-expression lies.
template <class A, class B>
concept addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept subtractable = requires(A a, B b) { a - b; };
template <class A, class B>
concept comparable = requires(A a, B b) { a < b; } || requires(A a, B b) { a == b; };
template <class A, class B>
concept divisible = requires(A a, B b) { a / b; };
template <class A, class B>
concept multipliable = requires(A a, B b) { a* b; };
template <class A, class B>
concept increasable = requires(A a, B b) { a += b; };
template <class Maker, class N>
concept made_from = requires(Maker make, N n) { make(n); };
template <class Q, class Maker>
concept readable_in = requires(Q q, Maker unit) { q.in(unit); };

static_assert(addable<byte_count, byte_count> && !addable<byte_count, duration> && !addable<byte_count, int>);
static_assert(subtractable<byte_count, byte_count> && !subtractable<byte_count, bit_count>);
static_assert(comparable<token_count, token_count> && !comparable<token_count, parameter_count>);
static_assert(!comparable<byte_count, int> && !comparable<byte_count, bit_count>);
static_assert(increasable<byte_count, byte_count> && !increasable<byte_count, token_count>);
static_assert(!increasable<byte_count, int>);
static_assert(divisible<byte_count, byte_rate> && !divisible<byte_count, int> && !divisible<byte_count, byte_count>);
static_assert(divisible<duration, int> && divisible<duration, duration>);
static_assert(multipliable<byte_count, int> && !multipliable<byte_count, double> && !multipliable<float, byte_count>);
static_assert(multipliable<duration, double> && multipliable<int, duration>);
static_assert(made_from<decltype(gib), int> && made_from<decltype(gib), std::size_t>);
static_assert(!made_from<decltype(gib), double> && !made_from<decltype(gib), bool>);
static_assert(made_from<decltype(seconds), double> && made_from<decltype(seconds), int>);
static_assert(readable_in<byte_count, decltype(gib)> && !readable_in<byte_count, decltype(seconds)>);
static_assert(!std::is_constructible_v<byte_count, int> && !std::is_constructible_v<byte_count, duration>);
static_assert(!std::is_convertible_v<byte_count, std::int64_t> && !std::is_assignable_v<byte_count&, int>);
static_assert(!std::is_assignable_v<byte_count&, bit_count> && !std::is_constructible_v<byte_count, bit_count>);

}  // namespace
