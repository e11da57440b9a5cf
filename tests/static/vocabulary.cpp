// SPDX-License-Identifier: MIT
// What every value of the vocabulary promises: it can be copied byte by byte, stands in a template argument, and has
// the layout of a C struct. Only compiled.
#include <llmres/llmres.hpp>

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

// Every other public value, folder by folder. What may be unknown and names given as literals are made by constructors
// that are not noexcept.
template <class... T>
constexpr bool are_values = ((std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && structural<T>) && ...);

static_assert(are_values<interval<byte_count>, gptq_tensors, packed_tensors, version_number>);
static_assert(are_values<host, cluster, gpu_measured, gpu_listing, mig_profile, mig_profile_list, device_identity,
                         device_software, device_allocation, device_memory, device_compute, device_power, device_pcie,
                         device_peer, device_process, device_product, device_all_reduce, device_measurements, device,
                         device_overrides>);
static_assert(
    are_values<indexer, attention, recurrent, experts, feed_forward, layer, layer_stack, extra_weight, encoder,
               prediction, rope_factors, mixed_formats, calibrated_cache, model, norm_modeling, attention_modeling,
               feed_forward_modeling, loss_modeling, dropout_modeling, weight, weight_formats, weight_format_view,
               kv_shape, state_shape, state_formats, gguf_mix, unet, flow_transformer>);
static_assert(are_values<runtime_version, runtime_identity, runtime_process, runtime_allocator, runtime_cache,
                         serving_step, serving_logits, device_default, runtime_loading, host_experts, mxfp4_experts,
                         serving_kernels, latent_kernels, training_kernels, training_loss, checkpointing, compilation,
                         fp8_training, training_sharding, optimizer_step, training_pipeline, runtime_checkpoints,
                         runtime_accuracy, runtime, format_set, knob_list>);
static_assert(are_values<job, layout, stage_range, stage_list, optimizer, adapter, role_set, offload, layer_part_set,
                         serving_options>);
static_assert(are_values<token_shape, attention_context, expert_context, quantised_context, operation, exchange,
                         token_pass, operation_formats, weight_shape, placement>);
static_assert(are_values<memory_breakdown, training_state, gradient_memory, optimizer_memory, cast_memory,
                         magnitude_memory, host_traffic, efficiency, time_breakdown, job_speed, reason, job_plan>);
static_assert(are_values<buffer, pool_size, length_distribution, phase_pool, disaggregated_plan, device_share,
                         dealt_share, dealt_layers, job_limits, remedy, remedies>);

// These hold text, a format or parts of a job that lie elsewhere: copied byte by byte, but no template arguments.
static_assert(std::is_trivially_copyable_v<modeling> && std::is_trivially_copyable_v<profile_error>);
static_assert(std::is_trivially_copyable_v<knob> && std::is_trivially_copyable_v<nearest_names>);
static_assert(std::is_trivially_copyable_v<activation> && std::is_trivially_copyable_v<training_formats>);
static_assert(std::is_trivially_copyable_v<training_context>);
static_assert(std::is_trivially_copyable_v<result<job_plan>> && std::is_trivially_copyable_v<result<job>>);

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
