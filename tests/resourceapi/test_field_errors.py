"""Field errors in the server's words."""

from __future__ import annotations

import pytest

from resourceapi import field_errors as errors
from resourceapi.field_errors import FieldError, Named, Verbatim, render_value

PATH = ("spec", "devices", 0)


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        pytest.param(errors.required(PATH), "FieldValueRequired", "Required value", id="required"),
        pytest.param(
            errors.required(PATH, "say it"),
            "FieldValueRequired",
            "Required value: say it",
            id="required-detail",
        ),
        pytest.param(
            errors.invalid(PATH, "a b", "no spaces"),
            "FieldValueInvalid",
            'Invalid value: "a b": no spaces',
            id="invalid",
        ),
        pytest.param(
            errors.invalid(PATH, None, "immutable"),
            "FieldValueInvalid",
            "Invalid value: null: immutable",
            id="null",
        ),
        pytest.param(errors.forbidden(PATH, ""), "FieldValueForbidden", "Forbidden", id="forbidden"),
        pytest.param(
            errors.forbidden(PATH, "not here"),
            "FieldValueForbidden",
            "Forbidden: not here",
            id="forbidden-detail",
        ),
        pytest.param(
            errors.duplicate(PATH, "a"), "FieldValueDuplicate", 'Duplicate value: "a"', id="duplicate"
        ),
        pytest.param(errors.not_found(PATH, "a"), "FieldValueNotFound", 'Not found: "a"', id="not-found"),
        pytest.param(
            errors.not_supported(PATH, "Some", ("All", "ExactCount")),
            "FieldValueNotSupported",
            'Unsupported value: "Some": supported values: "All", "ExactCount"',
            id="not-supported",
        ),
        pytest.param(
            errors.too_long(PATH, 64),
            "FieldValueTooLong",
            "Too long: may not be more than 64 bytes",
            id="too-long",
        ),
        pytest.param(
            errors.too_long(PATH, 1),
            "FieldValueTooLong",
            "Too long: may not be more than 1 byte",
            id="one-byte",
        ),
        pytest.param(
            errors.too_long(PATH, 63, unit="characters"),
            "FieldValueTooLong",
            "Too long: may not be more than 63 characters",
            id="characters",
        ),
        pytest.param(
            errors.too_many(PATH, 33, 32),
            "FieldValueTooMany",
            "Too many: 33: must have at most 32 items",
            id="too-many",
        ),
        pytest.param(
            errors.too_many(PATH, 2, 1),
            "FieldValueTooMany",
            "Too many: 2: must have at most 1 item",
            id="one-item",
        ),
        pytest.param(
            FieldError(errors.INTERNAL, PATH, "", "compiler failed"),
            "InternalError",
            "Internal error: compiler failed",
            id="internal",
        ),
    ],
)
def test_words(error: FieldError, reason: str, message: str) -> None:
    """An error is a cause of the server's Status, and a line of its message."""
    assert error.cause() == {"field": "spec.devices[0]", "message": message, "reason": reason}
    assert str(error) == repr(error) == f"spec.devices[0]: {message}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a\tb\u00e9\x01", '"a\\tbé\\x01"', id="text-as-go-quotes-it"),
        pytest.param(Named("a<b"), '"a\\u003cb"', id="named-type-as-json"),
        pytest.param(Verbatim('{"a":1}'), '{"a":1}', id="json-as-it-is"),
        pytest.param(True, "true", id="true"),
        pytest.param(False, "false", id="false"),
        pytest.param(0, "0", id="number"),
        pytest.param(None, "null", id="nothing"),
    ],
)
def test_values(value: object, text: str) -> None:
    """Values are shown as the server shows them."""
    assert render_value(value) == text


def test_rules_behind_errors() -> None:
    """What the two generations of rules need to recognise the same finding is kept with an error."""
    error = errors.invalid(PATH, 1, "x", origin="format=a")
    assert (error.origin, error.covered) == ("format=a", False)
    assert FieldError(errors.INVALID, PATH, covered=True).covered
