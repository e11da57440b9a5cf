// SPDX-License-Identifier: MIT
#pragma once

// Stands in for HTCondor's header of this name, which Debian 12 does not have: as much of its interface as a library of
// user functions sees. Build against HTCondor's own for a pool.
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace classad {

class Value {
public:
    struct undefined {};
    struct error {};

    void SetUndefinedValue() { held_ = undefined{}; }
    void SetErrorValue() { held_ = error{}; }
    void SetBooleanValue(bool value) { held_ = value; }
    void SetIntegerValue(long long value) { held_ = value; }
    void SetStringValue(const std::string& value) { held_ = value; }

    bool IsUndefinedValue() const { return std::holds_alternative<undefined>(held_); }
    bool IsErrorValue() const { return std::holds_alternative<error>(held_); }
    bool IsBooleanValue(bool& value) const { return get(value); }
    bool IsIntegerValue(long long& value) const { return get(value); }
    bool IsStringValue(std::string& value) const { return get(value); }

private:
    template <class T>
    bool get(T& value) const {
        if (const T* held = std::get_if<T>(&held_)) value = *held;
        return std::holds_alternative<T>(held_);
    }
    std::variant<undefined, error, bool, long long, std::string> held_;
};

class EvalState {};

/// A literal.
class ExprTree {
public:
    explicit ExprTree(Value value) : value_{std::move(value)} {}
    bool Evaluate(EvalState&, Value& value) const {
        value = value_;
        return true;
    }

private:
    Value value_;
};

using ArgumentList = std::vector<ExprTree*>;

struct ClassAdFunctionMapping {
    std::string functionName;
    void* function;  // bool (*)(const char*, const ArgumentList&, EvalState&, Value&)
    int flags;
};

}  // namespace classad
