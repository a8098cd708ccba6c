"""JSON-RPC: what is a message, what is refused and with which code, and how answers are written."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.mcp.errors import INVALID_REQUEST, PARSE_ERROR, Fault
from tasks_app.mcp.jsonrpc import (
    BadMessage,
    Kind,
    Message,
    encode,
    encode_error,
    encode_result,
    encode_result_text,
    is_deeper,
    parse,
)

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def test_request_is_read_with_its_parameters() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":"a","method":"tasks/get","params":{"taskId":"t"}}')

    assert (message.kind, message.id, message.method) == (Kind.REQUEST, "a", "tasks/get")
    assert message.params == {"taskId": "t"}


@pytest.mark.parametrize("id_", [0, "", -1, 2**63, "x" * 1024])
def test_unusual_ids_are_valid(id_: Any) -> None:
    """Trap 22: 0 and the empty text are ids."""
    message = parse(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "ping"}).encode())

    assert message.kind is Kind.REQUEST
    assert message.id == id_


@pytest.mark.parametrize("id_", [None, True, 1.5, 1.0, {}, [], "x" * 1025, "x" * 10_000])
def test_id_of_another_kind_is_refused(id_: Any) -> None:
    """Trap 22: null is no id, and a boolean no integer."""
    with pytest.raises(BadMessage) as refused:
        parse(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "ping"}).encode())

    assert (refused.value.code, refused.value.id) == (INVALID_REQUEST, None)


def test_message_without_id_is_a_notification() -> None:
    message = parse(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    assert (message.kind, message.id, message.params) == (Kind.NOTIFICATION, None, {})


@pytest.mark.parametrize("member", ["result", "error"])
def test_answer_to_a_request_of_ours_is_a_response(member: str) -> None:
    message = parse(json.dumps({"jsonrpc": "2.0", "id": "t/k", member: {"a": 1}}).encode())

    assert (message.kind, message.id) == (Kind.RESPONSE, "t/k")
    assert message.body[member] == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b'{"jsonrpc":',
        PING + b" garbage",
        b"\xef\xbb\xbf" + PING,
        PING.decode().encode("utf-16"),
        PING.decode().encode("utf-16-le"),
        PING.replace(b"ping", b"\xff"),
        PING.replace(b"ping", b"\xed\xa0\x80"),
        PING.replace(b"ping", b"a\x00b"),
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":-Infinity}}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"x"}',
    ],
)
def test_what_is_not_json_in_utf8_is_a_parse_error_without_id(body: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        parse(body)

    assert (refused.value.code, refused.value.id, refused.value.http_status) == (PARSE_ERROR, None, 400)


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"1",
        b'"ping"',
        b"[" + PING + b"]",
        b'{"id":null}',
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"x"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"a":2}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1e400}}',
    ],
)
def test_what_is_no_single_message_is_an_invalid_request(body: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        parse(body)

    assert (refused.value.code, refused.value.id, refused.value.http_status) == (INVALID_REQUEST, None, 400)


@pytest.mark.parametrize(
    "changes",
    [
        {"jsonrpc": "2.1"},
        {"jsonrpc": 2.0},
        {"method": 7},
        {"method": ""},
        {"params": []},
        {"params": None},
        {"params": "x"},
        {"result": {}},
        {"error": {}},
    ],
)
def test_bad_envelope_is_refused_with_the_id_of_the_request(changes: dict[str, Any]) -> None:
    with pytest.raises(BadMessage) as refused:
        parse(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping"} | changes).encode())

    assert (refused.value.code, refused.value.id) == (INVALID_REQUEST, 7)


@pytest.mark.parametrize("body", [{"result": 1}, {"error": "no"}, {"result": {}, "error": {}}, {"result": None}])
def test_bad_response_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(BadMessage) as refused:
        parse(json.dumps({"jsonrpc": "2.0", "id": 7} | body).encode())

    assert refused.value.code == INVALID_REQUEST


@pytest.mark.parametrize("method", ["x" * 100_000, "__proto__", "tasks/../get", "a b\n"])
def test_strange_methods_are_methods_nobody_knows(method: str) -> None:
    assert parse(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode()).method == method


def _nested(levels: int) -> bytes:
    # The message and its parameters are two levels.
    inner = b"[" * (levels - 2) + b"]" * (levels - 2)
    return b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + inner + b"}}"


def test_message_of_the_allowed_depth_is_read() -> None:
    assert parse(_nested(32)).method == "x"


@pytest.mark.parametrize("body", [_nested(33), _nested(10_000), b"[" * 10_000, b'{"a":' * 200_000])
def test_deeper_message_is_refused_before_it_is_decoded(body: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        parse(body)

    assert refused.value.code == INVALID_REQUEST
    assert refused.value.data == {"reason": "too_deep", "limit": 32}


def test_brackets_in_texts_are_no_depth() -> None:
    text = "[{" * 100 + '\\"' + "[" * 100

    message = parse(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": text, "[" * 40: 1}}).encode())

    assert message.params["a"] == text


def test_wide_message_is_not_deep() -> None:
    message = parse(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": [[]] * 10_000}}).encode())

    assert len(message.params["a"]) == 10_000


@pytest.mark.parametrize("filler", [b'"\\"' * 300_000, b'"' * 1_000_000, b"[]" * 500_000, b"\\" * 1_000_000])
def test_depth_of_a_large_body_is_measured_in_one_pass(filler: bytes) -> None:
    """Looking back at every character would take minutes."""
    started = time.perf_counter()

    is_deeper(filler + b"[]" * 40 + filler, 32)

    assert time.perf_counter() - started < 10


def test_brackets_that_do_not_match_are_a_parse_error() -> None:
    with pytest.raises(BadMessage) as refused:
        parse(b"}{" * 40)

    assert refused.value.code == PARSE_ERROR


def test_lone_surrogates_and_nul_survive_the_way_in_and_out() -> None:
    text = "\ud800 \x00 \U0001f600"
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": text}}).encode()

    message = parse(body)
    written = encode_result(1, {"a": message.params["a"]})

    assert message.params["a"] == text
    assert written.isascii()
    assert json.loads(written)["result"]["a"] == text


def test_minus_zero_and_large_integers_are_kept() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":-0,"b":9223372036854775808,"c":-0.0}}')

    assert message.params == {"a": 0, "b": 2**63, "c": -0.0}


def test_result_is_written_compactly_with_the_type_of_its_id() -> None:
    assert encode_result(0, {"a": [1, None]}) == b'{"jsonrpc":"2.0","id":0,"result":{"a":[1,null]}}'
    assert encode_result("0", {}) == b'{"jsonrpc":"2.0","id":"0","result":{}}'


def test_stored_result_goes_out_as_it_is() -> None:
    stored = '{"content":[],"x": "\\ud800"}'

    assert encode_result_text("a", stored) == b'{"jsonrpc":"2.0","id":"a","result":{"content":[],"x": "\\ud800"}}'


def test_stored_result_beyond_ascii_is_escaped() -> None:
    written = encode_result_text(1, '{"a":"\u00e9\U0001f600"}')

    assert written.isascii()
    assert json.loads(written)["result"] == {"a": "\u00e9\U0001f600"}


def test_error_without_known_id_says_null() -> None:
    written = json.loads(encode_error(None, Fault(-32700, "no", data={"a": 1})))

    assert written == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no", "data": {"a": 1}}}


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(
    id_=st.integers() | st.text(max_size=20),
    method=st.text(min_size=1),
    params=st.dictionaries(st.text(), JSON_VALUES, max_size=4),
)
def test_what_is_encoded_is_parsed_again(id_: str | int, method: str, params: dict[str, Any]) -> None:
    message = parse(encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}))

    assert (message.id, message.method, message.params) == (id_, method, params)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_message_or_a_fault(body: bytes) -> None:
    outcome: Message | int
    try:
        outcome = parse(body)
    except BadMessage as refused:
        outcome = refused.code

    assert isinstance(outcome, Message) or outcome in {PARSE_ERROR, INVALID_REQUEST}
