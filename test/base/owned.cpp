// test/base/owned.cpp — an owned object is destroyed once, with its last handle: base classes, const, self-assignment, release.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/owned.hpp>

#include <type_traits>
#include <utility>

namespace {

struct base_item {
  static inline int alive = 0;
  int number;
  explicit base_item(int n) : number(n) { ++alive; }
  base_item(const base_item&) = delete;
  virtual ~base_item() { --alive; }
};
struct derived_item final : base_item {
  static inline int alive = 0;
  using base_item::base_item;
  ~derived_item() override { ++alive; }  // counts destroyed objects
};

static_assert(!std::is_copy_constructible_v<ebb::owned<int>> && !std::is_copy_assignable_v<ebb::owned<int>>);
static_assert(std::is_nothrow_move_constructible_v<ebb::owned<int>> && !std::is_convertible_v<int*, ebb::owned<int>>);
static_assert([] {
  ebb::owned<int> a = ebb::make_owned<int>(3), b;
  b = std::move(a);
  return !a && *b == 3;
}());

}  // namespace

TEST_CASE("an owned object is destroyed once, as its own type") {
  {
    ebb::owned<base_item> a = ebb::make_owned<derived_item>(1), b = ebb::make_owned<base_item>(2), none, null = nullptr;
    CHECK((base_item::alive == 2 && a->number == 1 && (*b).number == 2 && !none && null == nullptr && a != nullptr));
    const ebb::owned<const base_item> c = std::move(a);
    CHECK((!a && c && c->number == 1 && base_item::alive == 2));
    b = ebb::make_owned<derived_item>(3);  // destroys the object that b held
    CHECK((b->number == 3 && base_item::alive == 2 && derived_item::alive == 0));
    ebb::owned<base_item>& same = b;
    b = std::move(same);
    CHECK((b && b->number == 3 && base_item::alive == 2));
    b = nullptr;
    CHECK((!b && base_item::alive == 1 && derived_item::alive == 1));
    base_item* const mine = ebb::make_owned<base_item>(4).release();
    CHECK((mine->number == 4 && base_item::alive == 2));
    b = ebb::owned<base_item>(mine);
    CHECK(b.get() == mine);
  }
  CHECK((base_item::alive == 0 && derived_item::alive == 2));
}
