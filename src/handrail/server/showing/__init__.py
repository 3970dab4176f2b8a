"""What the page shows of asks and of rows of the conversation: JSON with HTML in it that is safe to put in place.

Fields named `html` or `…_html` are HTML. All others are text in which hidden characters are written out, except for
those that an answer must carry as they came: `input`, `permission`, `answer`, the `text` of commands, plans and
questions, the `label` of options, the `name` and `value`s of a form's fields. What is shown of these is the HTML.
"""

from __future__ import annotations

from handrail.server.showing.cards import card, card_of_item
from handrail.server.showing.closing import closed, closed_row
from handrail.server.showing.details import row_details
from handrail.server.showing.images import image_in, image_seq
from handrail.server.showing.pieces import Pieces
from handrail.server.showing.prompts import prompt_row
from handrail.server.showing.showing import Showing

__all__ = [
    "Pieces",
    "Showing",
    "card",
    "card_of_item",
    "closed",
    "closed_row",
    "image_in",
    "image_seq",
    "prompt_row",
    "row_details",
]
