"""The node tree of JSON text that is known to be valid, for positions only."""

from __future__ import annotations

import json
import re

from documents.tree import MAPPING, MAX_VALUES, SCALAR, SEQUENCE, Node, too_many

_tokens = re.compile(r'("(?:[^"\\]|\\.)*")|([{\[])|([}\]])|([^\s{}\[\],:"]+)').finditer


def read_json_nodes(text: str) -> Node:
    """The nodes of one JSON value that spans the text, white space around it allowed.

    :raises MalformedText: if there are too many.
    """
    children: list[Node] = []
    open_nodes: list[tuple[list[Node], Node]] = []
    for count, token in enumerate(_tokens(text)):
        if count > MAX_VALUES:
            raise too_many(token.start())
        string, opening, closing, bare = token.groups()
        if closing:
            children, ended = open_nodes.pop()
            ended.end = token.end()
            continue
        if opening:
            node = Node(MAPPING if opening == "{" else SEQUENCE, token.start(), token.end())
            children.append(node)
            open_nodes.append((children, node))
            node.children = children = []
            continue
        node = Node(SCALAR, token.start(), token.end(), json.loads(string) if string else bare)
        node.plain = not string
        node.style = '"' if string else ""
        children.append(node)
    return children[0]
