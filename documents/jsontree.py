"""The node tree of JSON text that is known to be valid, for positions only."""

from __future__ import annotations

import json
import re

from documents.tree import MAPPING, SCALAR, SEQUENCE, Node

_tokens = re.compile(r'("(?:[^"\\]|\\.)*")|([{\[])|([}\]])|([^\s{}\[\],:"]+)').finditer


def read_json_nodes(text: str) -> Node:
    """The nodes of one JSON value that spans the text, white space around it allowed."""
    holder = Node(SEQUENCE, 0, len(text))
    open_nodes = [holder]
    for token in _tokens(text):
        string, opening, closing, bare = token.groups()
        if closing:
            open_nodes.pop().end = token.end()
            continue
        if opening:
            node = Node(MAPPING if opening == "{" else SEQUENCE, token.start(), token.end())
            open_nodes[-1].children.append(node)
            open_nodes.append(node)
            continue
        node = Node(SCALAR, token.start(), token.end(), json.loads(string) if string else bare)
        node.plain = not string
        node.style = '"' if string else ""
        open_nodes[-1].children.append(node)
    return holder.children[0]
