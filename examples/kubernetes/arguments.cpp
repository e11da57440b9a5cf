// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <nlohmann/json.hpp>

#include <iterator>
#include <stdexcept>
#include <utility>

namespace kubernetes {

namespace {

using nlohmann::json;

/// How far a text has been read. Reading ends early where one token is too long.
struct place {
    const char* at = nullptr;
    const char* limit = nullptr;  ///< where reading ends: the text's end, or a token's longest
};

/// An iterator over characters that tells how far it is. (nlohmann's parser tells its visitors no positions.)
class watched {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    watched() = default;  // the end
    explicit watched(place& here) : here_{&here} {}
    reference operator*() const { return *here_->at; }
    watched& operator++() {
        ++here_->at;
        return *this;
    }
    bool operator==(const watched& other) const { return done() == other.done(); }

private:
    bool done() const { return here_ == nullptr || here_->at == here_->limit; }
    place* here_ = nullptr;
};

/// Keeps of ExtenderArgs what an answer needs.
class visitor final : public nlohmann::json_sax<json> {
public:
    visitor(std::string_view text, const char* gpu_label)
        : here{text.data(), text.data()}, end_{text.data() + text.size()}, gpu_label_{gpu_label} {
        next_token();
    }

    place here{};
    arguments found{};
    bool lists_nodes = false;
    std::string refusal{};

    bool null() override { return value(nullptr); }
    bool boolean(bool) override { return value(nullptr); }
    bool number_integer(number_integer_t) override { return value(nullptr); }
    bool number_unsigned(number_unsigned_t) override { return value(nullptr); }
    bool number_float(number_float_t, const string_t&) override { return value(nullptr); }
    bool string(string_t& text) override { return value(&text); }
    bool binary(binary_t&) override { return false; }  // JSON text has none
    bool start_object(std::size_t) override {
        if (depth_ == 1 && field_ == "pod") begin_ = here.at - 1;
        if (in_items() && depth_ == 2) return refuse("Nodes.items is no list");
        if (in_items() && depth_ == 3) {
            if (found.nodes.size() == most_nodes) return refuse("more than 65,536 nodes");
            found.nodes.emplace_back();
            begin_ = here.at - 1;
        } else if (!takes_structure()) {
            return false;
        }
        return open();
    }
    bool start_array(std::size_t) override {
        if (depth_ == 0) return refuse("a list; expected an object with Pod and Nodes");
        if (in_items() && depth_ == 2) lists_nodes = true;
        if (depth_ == 1 && field_ == "names") found.names_alone = true;
        if (in_items() && depth_ == 3) return refuse("Nodes.items holds a list; expected nodes");
        return takes_structure() && open();
    }
    bool end_object() override {
        --depth_;
        if (depth_ == 1 && field_ == "pod") found.pod = since_begin();
        if (in_items() && depth_ == 3) {
            found.nodes.back().text = since_begin();
            in_metadata_ = false;
        }
        if (in_items() && depth_ == 4) in_metadata_ = in_labels_ = false;
        if (in_items() && depth_ == 5) in_labels_ = false;
        return next_token();
    }
    bool end_array() override {
        --depth_;
        if (depth_ == 2) in_list_ = false;
        return next_token();
    }
    bool key(string_t& name) override {
        if (depth_ == 1) {
            field_ = name == "Pod" || name == "pod"                                      ? "pod"
                     : name == "Nodes" || name == "nodes"                                ? "nodes"
                     : name == "NodeNames" || name == "nodeNames" || name == "nodenames" ? "names"
                                                                                         : "";
            if (!field_.empty() && !seen(field_)) return refuse(name + " is given twice");
        } else if (depth_ == 2 && field_ == "nodes") {
            in_list_ = name == "items";
            if (in_list_ && !seen("items")) return refuse("Nodes.items is given twice");
        } else if (in_items() && depth_ == 4) {
            in_metadata_ = name == "metadata";
        } else if (in_items() && depth_ == 5 && in_metadata_) {
            in_labels_ = name == "labels";
            in_name_ = name == "name";
        } else if (in_items() && depth_ == 6 && in_labels_) {
            in_gpu_ = name == gpu_label_;
        }
        return next_token();
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        if (here.at == here.limit && here.at != end_) return refuse("a text or number of more than 1.5 MiB");
        return refuse("no JSON");
    }

private:
    bool in_items() const { return field_ == "nodes" && in_list_; }
    std::string_view since_begin() const { return {begin_, static_cast<std::size_t>(here.at - begin_)}; }
    /// Whether a field is new, which it is no longer.
    bool seen(const std::string& name) {
        for (const std::string& other : seen_)
            if (other == name) return false;
        seen_.push_back(name);
        return true;
    }
    bool refuse(std::string why) {
        refusal = std::move(why);
        return false;
    }
    bool next_token() {
        const auto left = static_cast<std::size_t>(end_ - here.at);
        here.limit = here.at + (left < longest_object ? left : longest_object);
        return true;
    }
    bool counted() {
        if (++values_ > most_values) return refuse("more than 2,000,000 values");
        return next_token();
    }
    bool open() {
        if (depth_ == most_levels) return refuse("nested deeper than 64 levels");
        ++depth_;
        return counted();
    }
    /// An object or a list where an answer needs a text is refused with the node, or with the question.
    bool takes_structure() {
        if (field_ == "names" && depth_ == 2) return refuse("NodeNames holds no text");
        return takes(nullptr);
    }
    /// A value at the place where the reader is: its text, or null where it is none.
    bool takes(std::string* text) {
        if (field_ == "names" && depth_ == 2) {
            if (text == nullptr) return refuse("NodeNames holds no text");
            if (found.nodes.size() == most_nodes) return refuse("more than 65,536 nodes");
            found.nodes.push_back({.name = std::move(*text)});
        } else if (in_items() && depth_ == 5 && in_name_) {
            in_name_ = false;
            if (text == nullptr) return refuse("a node's metadata.name is no text");
            found.nodes.back().name = std::move(*text);
        } else if (in_items() && depth_ == 6 && in_gpu_) {
            in_gpu_ = false;
            if (text == nullptr)
                found.nodes.back().refusal = std::string{"the node's label "} + gpu_label_ + " is no text";
            else
                found.nodes.back().gpu = std::move(*text);
        }
        return true;
    }
    bool value(std::string* text) {
        if (depth_ == 0) return refuse("no object; expected one with Pod and Nodes");
        if (in_items() && depth_ == 3) return refuse("Nodes.items holds what is no node");
        if (in_items() && depth_ == 2) lists_nodes = true;  // Go writes null for a list without entries
        return takes(text) && counted();
    }

    const char* end_;
    const char* gpu_label_;
    const char* begin_ = nullptr;  ///< of the pod or node that is being read
    std::string field_{};          ///< of ExtenderArgs: pod, nodes, names, or empty
    std::vector<std::string> seen_{};
    std::size_t depth_ = 0;
    std::size_t values_ = 0;
    bool in_list_ = false;
    bool in_metadata_ = false;
    bool in_labels_ = false;
    bool in_name_ = false;
    bool in_gpu_ = false;
};

}  // namespace

arguments read_arguments(std::string_view text, const char* gpu_label) {
    visitor reading{text, gpu_label};
    if (!json::sax_parse(watched{reading.here}, watched{}, &reading)) throw std::invalid_argument{reading.refusal};
    if (reading.found.pod.empty()) throw std::invalid_argument{"Pod is absent"};
    if (reading.found.pod.size() > longest_object) throw std::invalid_argument{"Pod has more than 1.5 MiB"};
    if (reading.lists_nodes == reading.found.names_alone)
        throw std::invalid_argument{"expected either Nodes.items or NodeNames"};
    return std::move(reading.found);
}

}  // namespace kubernetes
