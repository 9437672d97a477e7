"""Remedies in one request or alternative: less, or something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cmp_to_key

from allocator.capacity_requests import Arithmetic, CapacityError, consumed, refused
from allocator.explaining.changes import (
    Claims,
    Part,
    details_of,
    parts,
    with_alternatives,
    with_details,
    with_selector,
)
from allocator.explaining.finder import ALTERNATIVE, CAPACITY, CLASS, COUNT, SELECTOR, Finder, Remedy
from allocator.explaining.trials import Variation
from allocator.words import Words, for_all
from resourceapi.limits import ALLOCATION_RESULTS
from resourceapi.model.claims import EXACT_COUNT
from resourceapi.objects import Object
from resourceapi.phrases import shortened
from resourceapi.quantity import UNSET, Quantity, value_of

#: The most amounts of a capacity that are tried.
MAX_AMOUNTS = 16
#: Longer expressions are cut.
MAX_EXPRESSION = 100
#: The most look-ups of one selector that are guarded.
MAX_GUARDS = 4


def find(finder: Finder, part: Part) -> Iterator[Remedy]:
    """Remedies in one request or alternative."""
    claims = finder.trials.claims
    if claims[part.claim].is_allocated:
        return
    yield from _count(finder, part)
    if finder.subject(part) in finder.made_for:
        return
    yield from _class(finder, part)
    yield from _capacity(finder, part)
    yield from _unnamed_capacity(finder, part)
    yield from _selectors(finder, part)
    yield from _without_alternative(finder, part)


def _class(finder: Finder, part: Part) -> Iterator[Remedy]:
    """An existing class with a similar name, if the class does not exist."""
    claims, classes = finder.trials.claims, finder.trials.snapshot.classes
    named = details_of(claims, part).device_class
    if named in classes:
        return
    meant = finder.meant_class(named)
    if not meant:
        return
    changed = with_details(claims, part, device_class=meant)
    yield from finder.correct(
        CLASS, for_all(f"with class {meant} in {finder.title(part)}"), finder.subject(part), meant, changed
    )


def _count(finder: Finder, part: Part) -> Iterator[Remedy]:
    claims = finder.trials.claims
    details = details_of(claims, part)
    most = ALLOCATION_RESULTS if details.takes_all else details.number - 1

    def fewer(count: int) -> Claims:
        return with_details(claims, part, mode=EXACT_COUNT, number=count)

    count = _largest(most, lambda count: finder.claims_work(fewer(count)))
    if count:
        instead = "all (allocationMode: ExactCount)" if details.takes_all else details.number
        text = f"with {_at_most(count)} instead of {instead} in {finder.title(part)}"
        yield from finder.confirm(COUNT, for_all(text), finder.subject(part), count, Variation(fewer(count)))


def common_count(finder: Finder) -> Iterator[Remedy]:
    """The same lower count in all requests of a claim with the same count."""
    claims = finder.trials.claims
    for index, claim in enumerate(claims):
        counted: dict[int, list[Part]] = {}
        for part in parts(claims):
            count = details_of(claims, part).number
            if part.claim == index and part.sub is None and count > 1:
                counted.setdefault(count, []).append(part)
        for count, together in counted.items():
            if len(together) > 1:
                yield from _common_count(finder, claim.key, together, count - 1)


def _common_count(finder: Finder, claim: str, together: Sequence[Part], most: int) -> Iterator[Remedy]:
    def fewer(count: int) -> Claims:
        changed = finder.trials.claims
        for part in together:
            changed = with_details(changed, part, mode=EXACT_COUNT, number=count)
        return changed

    count = _largest(most, lambda count: finder.claims_work(fewer(count)))
    if count:
        names = ", ".join(part.name for part in together)
        text = (
            f"with {_at_most(count)} instead of {most + 1} in each of the requests {names} of claim {claim}"
        )
        yield from finder.confirm(COUNT, for_all(text), f"{claim}:{names}", count, Variation(fewer(count)))


def _at_most(count: int) -> str:
    return f"a count of {count} or less" if count > 1 else "a count of 1"


def _largest(most: int, works: Callable[[int], bool]) -> int:
    """The largest number up to `most` that works, by bisection; 0 if none does."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if works(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _capacity(finder: Finder, part: Part) -> Iterator[Remedy]:
    """The largest amount of each requested capacity that works, or none if no amount does."""
    claims = finder.trials.claims
    wanted = details_of(claims, part).capacity or {}
    for name, amount in wanted.items():
        if amount is UNSET:
            continue

        def less(other: Quantity, name: str = name) -> Claims:
            return with_details(claims, part, capacity={**wanted, name: other})

        for other in _amounts(finder, part, name, amount):
            if finder.claims_work(less(other)):
                text = f"with at most {other} of {name} instead of {amount} in {finder.title(part)}"
                yield from finder.confirm(
                    CAPACITY,
                    Words(text, f"with less of {name} in {finder.title(part)}"),
                    finder.subject(part),
                    str(other),
                    Variation(less(other)),
                )
                break
        else:
            dropped = with_details(
                claims, part, capacity={each: most for each, most in wanted.items() if each != name}
            )
            if finder.claims_work(dropped):
                text = f"without requesting the capacity {name} in {finder.title(part)}"
                yield from finder.confirm(
                    CAPACITY, for_all(text), finder.subject(part), None, Variation(dropped)
                )


def _unnamed_capacity(finder: Finder, part: Part) -> Iterator[Remedy]:
    """An amount of a capacity of shared devices that the request does not name, so that it takes all of it."""
    claims = finder.trials.claims
    named = details_of(claims, part).capacity or {}
    for name in _without_default(finder):
        for amount in _amounts(finder, part, name, None) if name not in named else ():
            changed = with_details(claims, part, capacity={**named, name: amount})
            if finder.claims_work(changed):
                text = f"with a request for at most {amount} of {name} in {finder.title(part)}, which names no amount"
                yield from finder.confirm(
                    CAPACITY,
                    Words(text, f"with a request for an amount of capacity in {finder.title(part)}"),
                    finder.subject(part),
                    str(amount),
                    Variation(changed),
                )
                break


def _without_default(finder: Finder) -> list[str]:
    """The capacities of which a shared device gives all to a request that names no amount."""
    return sorted(
        {
            name
            for view in finder.views.values()
            for device in view.devices()
            if device.multiple
            for name, capacity in device.capacity.items()
            if "default" not in ((capacity or {}).get("requestPolicy") or {})
        }
    )


def _amounts(finder: Finder, part: Part, name: str, wanted: Quantity | None) -> list[Quantity]:
    """What devices have left of a capacity, also after all other requests, if it is less than requested; the largest first."""
    others = _requested_by_others(finder.trials.claims, part, name)
    found: dict[str, Quantity] = {}
    for view in finder.views.values():
        for device in view.devices():
            if name not in device.capacity:
                continue
            left = value_of(device.capacity[name])
            used = view.snapshot.allocated.capacity.get(device.id) or {}
            if name in used:
                left = left.sub(used[name])
            arithmetic = view.features.arithmetic
            for most in (left, left.sub(others)):
                for usable in _down_to_policy(name, most, device.capacity, arithmetic):
                    if (wanted is None or usable.cmp(wanted) < 0) and usable.sign() > 0:
                        found.setdefault(str(usable), usable)
    amounts = list(found.values())
    amounts.sort(key=cmp_to_key(Quantity.cmp), reverse=True)
    return amounts[:MAX_AMOUNTS]


def _requested_by_others(claims: Claims, part: Part, name: str) -> Quantity:
    """What all other requests together ask for of a capacity."""
    total = UNSET
    for other in parts(claims):
        requests = details_of(claims, other).capacity or {}
        if other != part and name in requests:
            total = total.add(requests[name])
    return total


def _down_to_policy(
    name: str, left: Quantity, capacity: Mapping[str, Object], arithmetic: Arithmetic
) -> Iterator[Quantity]:
    """The largest amount up to `left` that the policy of a capacity admits, and the least one, in case steps are counted otherwise."""
    policy: Object = (capacity[name] or {}).get("requestPolicy") or {}
    range: Object = policy.get("validRange") or {}
    most: Quantity | None = range.get("max")
    if most is not None and most.cmp(left) < 0:
        left = most
    for value in reversed(policy.get("validValues") or ()):
        if value.cmp(left) <= 0:
            yield value
            return
    asked, policies = {name: left}, {name: capacity[name]}
    try:
        rounded = (consumed(asked, policies, arithmetic) or refused(asked, policies, arithmetic)).get(name)
    except CapacityError:
        rounded = None
    step: Quantity | None = range.get("step")
    if rounded is None or step is None or rounded.cmp(left) <= 0:
        yield left
        return
    yield rounded.sub(step)
    if "min" in range:
        yield range["min"]


def _selectors(finder: Finder, part: Part) -> Iterator[Remedy]:
    """Without one of its selectors, or with a guard for an attribute that some devices lack."""
    claims = finder.trials.claims
    selectors = details_of(claims, part).selectors
    for index, selector in enumerate(selectors):
        expression = selector or ""
        guard, whole = _guarded(finder, expression)
        if guard:
            guarded = with_selector(claims, part, index, whole)
            if finder.claims_work(guarded):
                text = f"with `{guard} && …` before the selector `{expression}` in {finder.title(part)}"
                unquoted = f"with a guard in a selector of {finder.title(part)}"
                words = finder.quoting(text, expression, unquoted)
                yield from finder.confirm(SELECTOR, words, finder.subject(part), whole, Variation(guarded))
        dropped = with_selector(claims, part, index, "")
        if finder.claims_work(dropped):
            shown = shortened(expression, MAX_EXPRESSION)
            text = f"without the selector `{shown}` in {finder.title(part)}"
            words = finder.quoting(text, expression, f"without a selector in {finder.title(part)}")
            yield from finder.confirm(SELECTOR, words, finder.subject(part), None, Variation(dropped))
    if len(selectors) > 1:
        bare = with_details(claims, part, selectors=())
        singly = any(
            finder.claims_work(with_selector(claims, part, index, "")) for index in range(len(selectors))
        )
        if not singly and finder.claims_work(bare):
            text = f"without the {len(selectors)} selectors in {finder.title(part)}"
            yield from finder.confirm(SELECTOR, for_all(text), finder.subject(part), None, Variation(bare))


def class_guards(finder: Finder) -> Iterator[Remedy]:
    """With a guard in a selector of a DeviceClass, for an attribute that some devices lack."""
    claims, classes = finder.trials.claims, finder.trials.snapshot.classes
    named = (details_of(claims, part).device_class for part in parts(claims))
    for name in dict.fromkeys(named):
        for index, expression in enumerate(classes[name].expressions if name in classes else ()):
            guard, whole = _guarded(finder, expression)
            variation = Variation(claims, class_selector=(name, index, whole))
            if guard and finder.works(variation):
                text = f"with `{guard} && …` before the selector `{expression}` of DeviceClass {name}"
                plain = f"with a guard in a selector of DeviceClass {name}"
                yield from finder.confirm(SELECTOR, Words(text, plain), name, whole, variation)


def _guarded(finder: Finder, expression: str) -> tuple[str, str]:
    """Guards for the attributes that some devices lack, and the expression with them."""
    guards: list[str] = []
    while len(guards) < MAX_GUARDS and (guard := _guard(finder, _with_guards(guards, expression))):
        guards.append(guard)
    return " && ".join(guards), _with_guards(guards, expression)


def _with_guards(guards: Sequence[str], expression: str) -> str:
    return " && ".join([*guards, f"({expression})"]) if guards else expression


def _guard(finder: Finder, expression: str) -> str:
    """A guard for an attribute that some device lacks; empty if there is none."""
    for view in finder.views.values():
        for device in view.devices():
            guard = view.outcomes.on(expression, device).guard
            if guard:
                return guard
    return ""


def _without_alternative(finder: Finder, part: Part) -> Iterator[Remedy]:
    """Without an alternative that ends the search with an error, so that later ones are tried."""
    claims = finder.trials.claims
    if part.sub is None:
        return
    alternatives = claims[part.claim].devices.requests[part.request].alternatives
    others = [sub for sub in range(len(alternatives)) if sub != part.sub]
    if not others:
        return
    changed = with_alternatives(claims, part.claim, part.request, others)
    if finder.claims_work(changed):
        behind = [each.name for each in alternatives[part.sub + 1 :]]
        named = details_of(claims, part).device_class
        if named not in finder.trials.snapshot.classes:
            text = f"without {finder.title(part)}, whose class does not exist"
            behind = []
        else:
            text = f"without {finder.title(part)}, which fails with an error"
        if behind:
            text += f", so that {', '.join(behind)} {'is' if len(behind) == 1 else 'are'} never tried"
        yield from finder.confirm(ALTERNATIVE, for_all(text), finder.subject(part), None, Variation(changed))
