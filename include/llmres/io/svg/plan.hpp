// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/svg/drawing.hpp>
#include <llmres/io/svg/layers.hpp>
#include <llmres/io/svg/memory.hpp>
#include <llmres/io/svg/roofline.hpp>
#include <llmres/io/svg/workload.hpp>
#include <llmres/jobs/job.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A plan as pictures.
namespace llmres::inline v0 {

/// The names of a plan's pictures.
inline constexpr std::array<std::string_view, 5> picture_names{"memory", "phases", "layers", "roofline", "workload"};

/// A picture and what it shows.
struct named_picture {
    std::string_view name{};  ///< one of picture_names
    std::string svg{};        ///< the picture
};

/// The pictures of a plan: its memory, the phases of its step, its layers where several GPUs share them, the roofline.
inline std::vector<named_picture> pictures_of(const job_plan& p, const job& j, const cluster& c);

/// The pictures of a policy that learns from rollouts: its workload, and those of its training beside an engine.
inline std::vector<named_picture> pictures_of(const reinforcement_plan& p, const job& policy, const cluster& c);

/// Pictures above one another as one.
inline std::string stacked_svg(const std::vector<named_picture>& pictures);

/// All pictures of a plan as one.
inline std::string to_svg(const job_plan& p, const job& j, const cluster& c) {
    return stacked_svg(pictures_of(p, j, c));
}

// ---- detail ---------------------------------------------------------------------------------------------------------

inline std::vector<named_picture> pictures_of(const job_plan& p, const job& j, const cluster& c) {
    const std::string_view title = j.model.name.view();
    std::vector<named_picture> pictures{{picture_names[0], to_svg(p, title)},
                                        {picture_names[1], phases_to_svg(p, j, c, title)}};
    if (p.layout.gpus() > p.layout.replicas) pictures.push_back({picture_names[2], layers_to_svg(j, p.layout, title)});
    pictures.push_back({picture_names[3], roofline_to_svg(kernel_times_of(j, p.layout, c), c.gpu, title)});
    return pictures;
}

inline std::vector<named_picture> pictures_of(const reinforcement_plan& p, const job& policy, const cluster& c) {
    const phase_plan* const training = p.find(workload_phase::training);
    std::vector<named_picture> pictures{{picture_names[4], to_svg(p, c, policy.model.name.view())}};
    if (training == nullptr) return pictures;
    for (named_picture& one : pictures_of(training->plan, policy, beside_engine(p, c)))
        pictures.push_back(std::move(one));
    return pictures;
}

inline std::string stacked_svg(const std::vector<named_picture>& pictures) {
    std::string inside;
    double y = 0;
    for (const auto& [name, picture] : pictures) {
        constexpr std::string_view height_key = " height=\"";
        const std::size_t at = picture.find(height_key);
        if (at == std::string::npos) continue;
        constexpr std::string_view head = "<svg ";
        inside += detail::filled("{}y=\"{:.0f}\" {}", head, y, std::string_view{picture}.substr(head.size()));
        y += std::strtod(picture.c_str() + at + height_key.size(), nullptr);
    }
    return detail::filled(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\">\n{2}</svg>\n",
        detail::drawing::width, y, inside);
}

}  // namespace llmres::inline v0
