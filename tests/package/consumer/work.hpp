// SPDX-License-Identifier: Apache-2.0
// What a stranger does with the library: scopes in every translation unit, types of it in own
// types.
#pragma once

#include <cstdint>
#include <fabscope/core/handle.hpp>
#include <fabscope/core/units.hpp>
#include <fabscope/scope.hpp>
#include <fabscope/scope/attribute.hpp>
#include <fabscope/scope/chained.hpp>
#include <fabscope/scope/detached.hpp>
#include <fabscope/scope/macros.hpp>

struct solver {
  static constexpr const char* name = "solver";
};

/// A record of the user's own.
struct residual {
  fabscope::record_header header;
  double value = 0;
  static constexpr const char* type_name = "residual";
  static constexpr bool is_row = false;
  static const fabscope::field fields[1];
};
inline constexpr fabscope::field residual::fields[1] = {
    {"value", "", offsetof(residual, value), fabscope::field_type::f64}};

/// A user's guard around a scope.
class guard {
 public:
  explicit guard(fabscope::site& where) : scope_(where) {}
  void moved(fabscope::bytes amount) { scope_.bytes(amount.value); }

 private:
  fabscope::scope scope_;
};

struct request {
  fabscope::detached_scope open;
  fabscope::handle slot;
  fabscope::bytes size;
};

/// Records in whichever translation unit it is called.
inline int in_line(int n) {
  FABSCOPE_FUNCTION_SCOPE();
  return n + 1;
}

template <class Domain>
int templated(int n) {
  using namespace fabscope::literals;
  FABSCOPE_FUNCTION_SCOPE();
  fabscope::scope_in<Domain> inner{"iterate"_name, 8};
  inner.value(n);
  return n * 2;
}

/// Defined in work.cpp; records 6 scopes, 1 attribute and 1 residual.
int work(int n);
