"""Which Python function computes which CEL function, and how a call finds it when types are known only at run time.

Overloads and their argument types are those of `deviceselectors.declarations`; here are the implementations. A call
whose overload the checker could determine goes to that overload, behind a check of the actual argument types; any other
tries all overloads in order. Where nothing fits the error is cel-go's: `no such overload: major(string)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from deviceselectors import types as static
from deviceselectors.declarations import Overload, find_function
from deviceselectors.environment import Environment
from deviceselectors.runtime import (
    conversions,
    formats,
    formatting,
    lists,
    network,
    operators,
    quantities,
    regexes,
    semvers,
    strings,
    times,
    urls,
)
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    NONE,
    CelError,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    no_such_overload,
    type_name,
)

Function = Callable[..., Any]


def _lists_compared(function: Function, template: str) -> dict[str, Function]:
    kinds = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
    return {template.format(kind): function for kind in kinds}


#: Functions that look at their arguments themselves: the same for all overloads, no check of types before.
SINGLETONS: dict[str, Function] = {
    "!_": operators.logical_not,
    "-_": operators.negate,
    "_+_": operators.add,
    "_-_": operators.subtract,
    "_*_": operators.multiply,
    "_/_": operators.divide,
    "_%_": operators.modulo,
    "_<_": operators.less,
    "_<=_": operators.less_equals,
    "_>_": operators.greater,
    "_>=_": operators.greater_equals,
    "_==_": operators.equal,
    "_!=_": operators.not_equal,
    "@in": operators.contains,
    "size": operators.size,
    "type": conversions.type_of,
    "dyn": conversions.identity,
}


def _unreachable(*arguments: Any) -> Any:
    """For functions of authorizers: no expression can get one, so no arguments fit."""
    raise CelError("no such overload")


IMPLEMENTATIONS: dict[str, Function] = {
    # conversions
    "bool_to_bool": conversions.identity,
    "string_to_bool": conversions.string_to_bool,
    "bytes_to_bytes": conversions.identity,
    "string_to_bytes": conversions.string_to_bytes,
    "double_to_double": conversions.identity,
    "int64_to_double": conversions.int_to_double,
    "string_to_double": conversions.string_to_double,
    "uint64_to_double": conversions.int_to_double,
    "duration_to_duration": conversions.identity,
    "string_to_duration": conversions.duration_from_string,
    "int64_to_int64": conversions.identity,
    "double_to_int64": conversions.double_to_int,
    "duration_to_int64": conversions.duration_to_int,
    "string_to_int64": conversions.string_to_int,
    "timestamp_to_int64": conversions.timestamp_to_int,
    "uint64_to_int64": conversions.uint_to_int,
    "string_to_string": conversions.identity,
    "bool_to_string": conversions.bool_to_string,
    "bytes_to_string": conversions.bytes_to_string,
    "double_to_string": conversions.double_to_string,
    "duration_to_string": times.duration_text,
    "int64_to_string": conversions.int_to_string,
    "timestamp_to_string": times.timestamp_text,
    "uint64_to_string": conversions.int_to_string,
    "ip_to_string": conversions.opaque_to_string,
    "cidr_to_string": conversions.opaque_to_string,
    "timestamp_to_timestamp": conversions.identity,
    "int64_to_timestamp": times.from_seconds,
    "string_to_timestamp": conversions.timestamp_from_string,
    "uint64_to_uint64": conversions.identity,
    "double_to_uint64": conversions.double_to_uint,
    "int64_to_uint64": conversions.int_to_uint,
    "string_to_uint64": conversions.string_to_uint,
    # times
    "timestamp_to_year": times.full_year,
    "timestamp_to_year_with_tz": times.full_year,
    "timestamp_to_month": times.month,
    "timestamp_to_month_with_tz": times.month,
    "timestamp_to_day_of_year": times.day_of_year,
    "timestamp_to_day_of_year_with_tz": times.day_of_year,
    "timestamp_to_day_of_month": times.day_of_month,
    "timestamp_to_day_of_month_with_tz": times.day_of_month,
    "timestamp_to_day_of_month_1_based": times.date,
    "timestamp_to_day_of_month_1_based_with_tz": times.date,
    "timestamp_to_day_of_week": times.day_of_week,
    "timestamp_to_day_of_week_with_tz": times.day_of_week,
    "timestamp_to_hours": times.hours,
    "timestamp_to_hours_with_tz": times.hours,
    "timestamp_to_minutes": times.minutes,
    "timestamp_to_minutes_with_tz": times.minutes,
    "timestamp_to_seconds": times.seconds,
    "timestamp_to_seconds_tz": times.seconds,
    "timestamp_to_milliseconds": times.milliseconds,
    "timestamp_to_milliseconds_with_tz": times.milliseconds,
    "duration_to_hours": times.duration_hours,
    "duration_to_minutes": times.duration_minutes,
    "duration_to_seconds": times.duration_whole_seconds,
    "duration_to_milliseconds": times.duration_milliseconds,
    # strings
    "contains_string": strings.contains,
    "starts_with_string": strings.starts_with,
    "ends_with_string": strings.ends_with,
    "string_char_at_int": strings.char_at,
    "string_index_of_string": strings.index_of,
    "string_index_of_string_int": strings.index_of,
    "string_last_index_of_string": strings.last_index_of,
    "string_last_index_of_string_int": strings.last_index_of_from,
    "string_lower_ascii": strings.lower_ascii,
    "string_upper_ascii": strings.upper_ascii,
    "string_replace_string_string": strings.replace,
    "string_replace_string_string_int": strings.replace,
    "string_split_string": strings.split,
    "string_split_string_int": strings.split,
    "string_substring_int": strings.substring,
    "string_substring_int_int": strings.substring_range,
    "string_trim": strings.trim,
    "string_format": formatting.format_string,
    "strings_quote": strings.quote,
    "list_join": strings.join,
    "list_join_string": strings.join,
    "string_find_string": regexes.find,
    "string_find_all_string": regexes.find_all_computed,
    "string_find_all_string_int": regexes.find_all_computed,
    # lists
    "list_slice": lists.slice_list,
    "list_flatten": lists.flatten,
    "list_flatten_int": lists.flatten_to_depth,
    "lists_range": lists.make_range,
    "list_reverse": lists.reverse,
    "list_distinct": lists.distinct,
    "list_a_index_of_int": lists.index_of,
    "list_a_last_index_of_int": lists.last_index_of,
    "list_includes_dyn_dyn": lists.includes,
    "list_first": lists.first,
    "list_last": lists.last,
    **_lists_compared(lists.is_sorted, "list_{0}_is_sorted_bool"),
    **_lists_compared(lists.maximum, "list_{0}_max_{0}"),
    **_lists_compared(lists.minimum, "list_{0}_min_{0}"),
    **{f"list_{kind}_sum_{kind}": lists.summer(kind) for kind in ("int", "uint", "double", "duration")},
    # sets
    "list_sets_contains_list": lists.sets_contains,
    "list_sets_equivalent_list": lists.sets_equivalent,
    "list_sets_intersects_list": lists.sets_intersects,
    # optionals
    "optional_of": lists.optional_of,
    "optional_ofNonZeroValue": lists.optional_of_non_zero,
    "optional_none": lists.optional_none,
    "optional_value": lists.optional_value,
    "optional_hasValue": lists.has_value,
    "optional_unwrap": lists.unwrap,
    "optional_unwrapOpt": lists.unwrap,
    # maps
    "@mapInsert_map_key_value": operators.insert,
    "@mapInsert_map_map": operators.insert_all,
    # URLs
    "string_to_url": urls.parse,
    "is_url_string": urls.is_url,
    "url_get_scheme": urls.scheme,
    "url_get_host": urls.host,
    "url_get_hostname": urls.hostname,
    "url_get_port": urls.port,
    "url_get_escaped_path": urls.escaped_path,
    "url_get_query": urls.query,
    # addresses
    "string_to_ip": network.parse_ip,
    "is_ip": network.is_ip,
    "ip_is_canonical": network.is_canonical,
    "ip_family": network.family,
    "ip_is_unspecified": network.is_unspecified,
    "ip_is_loopback": network.is_loopback,
    "ip_is_link_local_multicast": network.is_link_local_multicast,
    "ip_is_link_local_unicast": network.is_link_local_unicast,
    "ip_is_global_unicast": network.is_global_unicast,
    "string_to_cidr": network.parse_cidr,
    "is_cidr": network.is_cidr,
    "cidr_contains_ip_string": network.contains_ip_text,
    "cidr_contains_ip_ip": network.contains_ip,
    "cidr_contains_cidr_string": network.contains_cidr_text,
    "cidr_contains_cidr": network.contains_cidr,
    "cidr_ip": network.cidr_ip,
    "cidr_prefix_length": network.prefix_length,
    "cidr_masked": network.masked,
    # quantities
    "string_to_quantity": quantities.parse,
    "is_quantity_string": quantities.is_quantity,
    "quantity_sign": quantities.sign,
    "quantity_is_greater_than": quantities.is_greater_than,
    "quantity_is_less_than": quantities.is_less_than,
    "quantity_compare_to": quantities.compare_to,
    "quantity_get_float": quantities.as_approximate_float,
    "quantity_get_int": quantities.as_integer,
    "quantity_is_integer": quantities.is_integer,
    "quantity_add": quantities.add,
    "quantity_add_int": quantities.add_int,
    "quantity_sub": quantities.sub,
    "quantity_sub_int": quantities.sub_int,
    # semantic versions
    "string_to_semver": semvers.parse,
    "string_bool_to_semver": semvers.parse,
    "is_semver_string": semvers.is_semver,
    "is_semver_string_bool": semvers.is_semver,
    "semver_is_greater_than": semvers.is_greater_than,
    "semver_is_less_than": semvers.is_less_than,
    "semver_compare_to": semvers.compare_to,
    "semver_major": semvers.major,
    "semver_minor": semvers.minor,
    "semver_patch": semvers.patch,
    # authorizers
    **dict.fromkeys(
        (
            "authorizer_path",
            "authorizer_group",
            "authorizer_serviceaccount",
            "authorizer_fieldselector",
            "authorizer_labelselector",
            "groupcheck_resource",
            "resourcecheck_subresource",
            "resourcecheck_namespace",
            "resourcecheck_name",
            "resourcecheck_check",
            "pathcheck_check",
            "decision_allowed",
            "decision_errored",
            "decision_error",
            "decision_reason",
        ),
        _unreachable,
    ),
    # named formats
    "format-named": formats.named,
    "format-validate": formats.validate,
}

#: Functions without a check of types: their implementation's own error has no signature in it.
_UNGUARDED = frozenset(("contains", "startsWith", "endsWith"))
_NO_OVERLOAD = "no such overload"
_RECEIVERS = frozenset((str, Duration, Timestamp))

#: The Python class of values of a static type.
CLASSES: dict[int, type] = {
    static.BOOL: bool,
    static.BYTES: bytes,
    static.DOUBLE: float,
    static.DURATION: Duration,
    static.INT: int,
    static.NULL: type(None),
    static.STRING: str,
    static.TIMESTAMP: Timestamp,
    static.UINT: Uint,
    static.TYPE: TypeValue,
}


@functools.cache
def _predicate(declared: static.Type) -> Callable[[Any], bool] | None:
    """The check whether a value may be passed for a declared type, or None when any may.

    As in cel-go it looks at no more than the first element of a list or map.
    """
    kind = declared.kind
    if kind in (static.DYN, static.ANY, static.TYPE_PARAMETER):
        return None
    if kind == static.LIST:
        return _list_predicate(_predicate(declared.parameters[0]))
    if kind == static.MAP:
        return _map_predicate(_predicate(declared.parameters[0]), _predicate(declared.parameters[1]))
    cls = CLASSES.get(kind)
    if cls is not None:
        return lambda value: value.__class__ is cls
    name = declared.name
    return lambda value: type_name(value) == name


def _list_predicate(element: Callable[[Any], bool] | None) -> Callable[[Any], bool]:
    if element is None:
        return lambda value: value.__class__ in LIST_CLASSES
    return lambda value: value.__class__ in LIST_CLASSES and (not len(value) or element(value[0]))


def _map_predicate(
    key: Callable[[Any], bool] | None, element: Callable[[Any], bool] | None
) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if value.__class__ not in MAP_CLASSES:
            return False
        for first in value:
            return (key is None or key(first)) and (
                element is None or element(operators.lookup(value, first))
            )
        return True

    return check


def _matcher(overload: Overload) -> Callable[[tuple[Any, ...]], bool]:
    checks = [(i, check) for i, t in enumerate(overload.arguments) if (check := _predicate(t)) is not None]
    count = len(overload.arguments)

    def fits(arguments: tuple[Any, ...]) -> bool:
        return len(arguments) == count and all(check(arguments[i]) for i, check in checks)

    return fits


_EVERYTHING = Environment("stored")


@functools.cache
def overload_function(name: str, overload_id: str) -> Function:
    """The function for a call whose overload is known, with the check of its arguments' types."""
    implementation = _implementation(name, overload_id)
    if name in _UNGUARDED:
        return _texts_only(implementation)
    if name == "flatten":
        return implementation
    overloads = find_function(name, _EVERYTHING) or ()
    overload = next(o for o in overloads if o.id == overload_id)
    fits = _matcher(overload)

    def call(*arguments: Any) -> Any:
        if not fits(arguments):
            raise no_such_overload(name, *arguments)
        return implementation(*arguments)

    return call


def _implementation(name: str, overload_id: str) -> Function:
    if name.startswith("format.") and name != "format.named":
        constant = formats.FORMATS[name[len("format.") :]]
        return lambda: constant
    return IMPLEMENTATIONS[overload_id]


def _texts_only(implementation: Function) -> Function:
    def call(left: Any, right: Any) -> Any:
        if left.__class__ is not str or right.__class__ is not str:
            raise CelError(_NO_OVERLOAD)
        return implementation(left, right)

    return call


@functools.cache
def dispatcher(name: str) -> Function:
    """The function for a call that may be any of its overloads."""
    if name == "matches":
        return _matches
    if name in ("sort", "@sortByAssociatedKeys"):
        return _sorter(name)
    overloads = find_function(name, _EVERYTHING) or ()
    if len(overloads) == 1:
        return overload_function(name, overloads[0].id)
    table = [(_matcher(o), _implementation(name, o.id)) for o in overloads]
    if name == "flatten":
        table = [(_counter(len(o.arguments)), _implementation(name, o.id)) for o in overloads]

    def call(*arguments: Any) -> Any:
        for fits, implementation in table:
            if fits(arguments):
                return implementation(*arguments)
        raise no_such_overload(name, *arguments)

    return call


def _counter(count: int) -> Callable[[tuple[Any, ...]], bool]:
    return lambda arguments: len(arguments) == count


def _matches(text: Any, pattern: Any) -> bool:
    if text.__class__ is not str:
        raise CelError(_NO_OVERLOAD if text.__class__ in _RECEIVERS else f"{_NO_OVERLOAD}: matches")
    if pattern.__class__ is not str:
        raise CelError(_NO_OVERLOAD)
    return regexes.matches(text, pattern)


def _sorter(name: str) -> Function:
    implementation: Function = lists.sort if name == "sort" else lists.sort_by_keys

    def call(*arguments: Any) -> Any:
        cls = arguments[0].__class__
        if cls not in LIST_CLASSES:
            raise CelError(_NO_OVERLOAD if cls in _RECEIVERS else f"{_NO_OVERLOAD}: {name}")
        return implementation(*arguments)

    return call


def resolve(name: str, overloads: tuple[str, ...]) -> Function:
    """The Python function for a call of a CEL function, given the overloads that the checker left."""
    singleton = SINGLETONS.get(name)
    if singleton is not None:
        return singleton
    if len(overloads) == 1 and name not in ("matches", "sort", "@sortByAssociatedKeys"):
        return overload_function(name, overloads[0])
    return dispatcher(name)


def with_constant_pattern(name: str, pattern: str) -> Function:
    """`matches`, `find` or `findAll` with a literal pattern, compiled once. Raises RegexError and CelPanic."""
    compiled = regexes.compile_paid(pattern)
    function = _CONSTANT_PATTERN[name]

    def call(text: Any, _pattern: Any, *limit: Any) -> Any:
        # cel-go asks for the native value here, which optionals and types have as well
        if text.__class__ is Optional and text is not NONE:
            text = text.value
        if text.__class__ is TypeValue:
            text = text.name
        if text.__class__ is not str or (limit and limit[0].__class__ is not int):
            raise CelError(_NO_OVERLOAD)
        return function(compiled, text, *limit)

    return call


_CONSTANT_PATTERN: dict[str, Function] = {
    "matches": regexes.search,
    "find": regexes.find_first,
    "findAll": regexes.find_all,
}
