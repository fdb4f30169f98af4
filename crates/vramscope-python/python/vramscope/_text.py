"""Why memory ran out, from the text of an error or a log."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Union, cast

from ._vramscope import text_of_bytes, text_of_file


def explain_text(text: Union[str, bytes, os.PathLike[str]]) -> List[Dict[str, Any]]:
    """Says why memory ran out, from the text of an error or a log: ``vramscope text``.

        try:
            train()
        except torch.OutOfMemoryError as error:
            print(vramscope.explain_text(str(error))[1]["explanation"])
        vramscope.explain_text(Path("slurm-1234.out"))[0]["failures"]

    A ``str`` or ``bytes`` is the text itself, a path a file of any size, which may be compressed.

    Returns the parts that ``vramscope man json`` describes: the first is about the whole text, with all failures in its
    table; then one explains each failure in full, the first to fail first.
    """
    if isinstance(text, str):
        text = text.encode(errors="replace")
    answer = text_of_bytes(text) if isinstance(text, bytes) else text_of_file(text)
    return cast("List[Dict[str, Any]]", json.loads(answer)["parts"])
