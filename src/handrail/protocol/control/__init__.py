"""The control protocol as one table: a struct for every request, and for what answers it.

    class SetModel(Request[ModelSet], tag="set_model"):      # subtype "set_model" is answered with a ModelSet
        model: str | UnsetType | None = UNSET

The table is all there is: `HOST_REQUESTS` and `CLI_REQUESTS` are read off the classes, and one generic call serves
every row (`await client.request(SetModel(model="opus"))` returns a `ModelSet`). Names are Python's; the wire's own
mixture of snake_case and camelCase is kept in `rename=` and `field(name=…)`. Each module is one topic of the table;
all of its names are here.

What we send is exact: fields the CLI needs are required, the rest is `UNSET` until given, so that null and absent
differ. What the CLI sends is open, because its fields come and go between versions: every field has a default, unknown
fields are ignored, and a set of known words is `Literal[…] | str`; only discriminators are required. Permission
updates go both ways and are exact: a rule without its behaviour must not read as any rule.
"""

from handrail.protocol.control.base import *
from handrail.protocol.control.context import *
from handrail.protocol.control.conversation import *
from handrail.protocol.control.dialogs import *
from handrail.protocol.control.files import *
from handrail.protocol.control.hook_inputs import *
from handrail.protocol.control.hook_outputs import *
from handrail.protocol.control.mcp import *
from handrail.protocol.control.permissions import *
from handrail.protocol.control.plugins import *
from handrail.protocol.control.prompt_tool import *
from handrail.protocol.control.registry import *
from handrail.protocol.control.session import *
from handrail.protocol.control.settings import *
from handrail.protocol.control.tasks import *
