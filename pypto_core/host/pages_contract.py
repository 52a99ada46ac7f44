"""The pages behind the codes of machines, planners, stored and printed programs, and the host: PT5xx to PT7xx."""

from __future__ import annotations

from pypto_core.contract import CodePage

MACHINE_PAGES = (
    CodePage(
        "PT501",
        "a figure of a cost model is out of range",
        "Rates and latencies are finite numbers, at least 0, and above 0 where something is divided by them. The fact "
        "shows the value with its unit.\n\n"
        "    bw_l0a=0    # bytes in a cycle: above 0\n\n"
        "Correct the figure where the backend is described. What is not known is better estimated, and its source "
        "called an estimate, than set to 0.",
    ),
    CodePage(
        "PT502",
        "a figure without a source",
        "Every figure of a cost model says where it comes from: a data sheet, a measurement, another model. The facts "
        "list the figures that have none, and sources that belong to no figure (a misspelt name). A source under `*` "
        "stands for all others:\n\n"
        '    sources={"bw_l0a": "data sheet, table 2", "*": "estimate"}',
    ),
    CodePage(
        "PT503",
        "a machine contradicts itself",
        "A backend is checked when its module is imported. Capacities are positive, alignments powers of two, each "
        "memory and each path listed once, paths join memories that exist, and features are called `area.name`. The "
        "sentence names the field and the remedy a value of the right kind.\n\n"
        "The same code is raised when a transfer is costed that the machine does not make in one step; the remedy "
        "then names the memories to go through.",
    ),
    CodePage(
        "PT510",
        "a placement problem contradicts itself",
        "Whoever builds a `PlacementProblem` for a planner gives each block a name of its own, a positive size and "
        "alignment, lifetimes that ascend and don't touch, and pairs of two different blocks of one memory. The facts "
        "name the block. The problem is wrong, not the planner: correct what builds it.",
    ),
    CodePage(
        "PT530",
        "which function is the entry",
        "A run starts at one function. When nobody says which, it is the only one that no other calls; of several, "
        "the only orchestration function. Here that leaves more than one, none, or the name given is not in the "
        "program. The facts list the functions. Name it: `pypto run kernel.py --entry main`, or `entry=` in Python.",
    ),
    CodePage(
        "PT531",
        "no random input can be made for a parameter",
        "Inputs are drawn for tensors, tiles and scalars of number formats that numpy or ml_dtypes has. An extent "
        "may be a symbol (it gets a default) or arithmetic on symbols; other expressions can't be worked out. Pass "
        "the inputs: `pypto run --inputs arrays.npz`, or the `inputs` of `assert_same_behaviour`.",
    ),
)

TEXT_PAGES = (
    CodePage(
        "PT550",
        "not a stored program",
        "`pypto_core.text.loads` reads what `dumps` wrote: bytes that begin with the mark of the format. It was given "
        "something else, such as the text of a program, which `pl.parse` reads, or a file of another tool.",
    ),
    CodePage(
        "PT551",
        "a program stored in another version of the format",
        "Stored programs are kept for tools of the same release. The fact shows the version that is read here. "
        "Compile the kernel again; or, with the release that wrote the file, load it and print it as text, which any "
        "release parses.",
    ),
    CodePage(
        "PT552",
        "a stored program is truncated or corrupted",
        "Its end is missing, its length is not the one stated, its checksum does not fit, or its contents are no "
        "msgpack. A copy or download broke off, or the file was edited. Nothing of it is used: store it again.",
    ),
    CodePage(
        "PT553",
        "a stored program has nodes or fields that are not known",
        "The file names a class, a field or an enumeration that this installation does not have. Either another "
        "release wrote it, or it holds nodes of a plugin: read it with a codec that knows the plugin's classes, "
        "`Codec.extended(classes)`.",
    ),
    CodePage(
        "PT554",
        "a stored program refers to what it does not hold",
        "Nodes refer to nodes before them, to files and to spans by number, and one of these numbers is out of range. "
        "`dumps` never writes such a file: it was made or altered by something else. Store the program again.",
    ),
    CodePage(
        "PT555",
        "a stored program holds a value of the wrong kind",
        "A field has a number where text belongs, a list of the wrong length, a node of the wrong class, or a value "
        "that its class refuses. `dumps` never writes such a file: store the program again.",
    ),
    CodePage(
        "PT556",
        "a stored program is larger than it may be",
        "The bytes of the file, the digits of a number, the nesting of an option, or the tree that shared nodes stand "
        "for, is over the limit that keeps a hostile file from filling the memory. For a large program of your own "
        "raise the limit: `Codec(..., max_bytes=...)`.",
    ),
    CodePage(
        "PT557",
        "a value has no stored form",
        "Nodes, types, enum members, numbers, strings and tuples of these can be stored. The fact names the class of "
        "something else that sits in an attribute or option, of a node class that only a plugin knows, or two classes "
        "of one name. Extend the codec with the plugin's classes: `Codec.extended(classes)`. Strings with lone "
        "surrogates have no UTF-8 form and can't be stored either.",
    ),
    CodePage(
        "PT560",
        "a value has no text form",
        "A program is printed as the `pl` code that parses back to it. An attribute that is no number, string, enum "
        "member, element type, scalar expression or tuple of these can't be written so; neither can a node that only "
        "exists within a pass. Use one of the kinds above, or keep the program in the binary form, "
        "`pypto_core.text.dumps`.",
    ),
    CodePage(
        "PT561",
        "an expression is nested too deeply to print",
        "Printing follows an expression to its leaves, and this one goes deeper than Python's stack. Split it by "
        "assigning its parts to variables; PT213 is the same for other tools.",
    ),
)

_UNKNOWN = (
    " The facts list what is installed and which plugins could not be loaded; the remedy names the nearest name, or "
    "the package that brings it."
)

HOST_PAGES = (
    CodePage(
        "PT630",
        "the tiles do not fit into a memory",
        "The planner found no addresses for all tiles that are alive at the same time. The facts show the capacity, "
        "what is needed at the worst statement, and the largest tiles there; where a pipelined loop has several of a "
        "tile, also how many stages would do. *Certainty* says whether no placement exists, or none was found in the "
        "bounded search.\n\n"
        "    available = 196608 bytes in Vec\n"
        "    alive at once = 262144 bytes at statement 9\n\n"
        "Make the tiles named smaller, use fewer stages of a pipelined loop, or end a tile's life earlier by storing "
        "it. `pypto memory FILE` draws who is alive when. Another `--planner` may find a place.",
    ),
    CodePage(
        "PT701",
        "there is no such backend",
        "Backends answer to their name and aliases in any case; `pypto backends` lists them." + _UNKNOWN,
    ),
    CodePage(
        "PT702",
        "there is no such memory planner",
        "Planners come from plugins, as everything that compiles does." + _UNKNOWN,
    ),
    CodePage(
        "PT703",
        "there is no such target or goal",
        "`--goal` names a target, such as `pto`, or a property to reach, such as `SSAForm`." + _UNKNOWN,
    ),
    CodePage(
        "PT704",
        "there is no such pass",
        "`pypto passes` lists what is installed. Names are written as there, capitals included." + _UNKNOWN,
    ),
    CodePage(
        "PT705",
        "there is no such engine",
        "Engines execute programs on this computer, and come from plugins." + _UNKNOWN,
    ),
)
