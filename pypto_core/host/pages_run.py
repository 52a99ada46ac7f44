"""The pages behind the codes of running, of the command line and of faults: PT8xx and PT9xx."""

from __future__ import annotations

from pypto_core.contract import CodePage

RUN_PAGES = (
    CodePage(
        "PT800",
        "the input lacks a property that every program has",
        "A program has to be well typed and well formed before any pass runs. The diagnostics below the message say "
        "where it is not, each under the code of its property (PT420 and up). A parsed kernel seldom gets here; a "
        "program that was built node by node may.",
    ),
    CodePage(
        "PT801",
        "a pass left a program without what it promised",
        "After the pass, a property that its contract says it makes, or one that every program has, does not hold. "
        "The facts name the pass and who provides it; the diagnostics below show where. The pass is at fault. While "
        "it is mended, `PYPTO_PLUGINS` can block its plugin.",
    ),
    CodePage(
        "PT802",
        "a pass can't run without what it requires",
        "A property in the pass's `requires` does not hold of the program. Within a pipeline of the solver that means "
        "that an earlier pass destroyed it and does not say so. In a pipeline that was put together by hand, a step "
        "is missing: `pypto passes NAME` says what the pass requires, `pypto pipeline` which steps make it.",
    ),
    CodePage(
        "PT803",
        "a pass must not run any more",
        "The pass's contract forbids a property that holds already, as a pass that works on loops with stages must "
        "not run once the stages are resolved. Run it before the pass that makes the property; the solver does.",
    ),
    CodePage(
        "PT804",
        "a program does not read back from its printed text",
        "With `--verify roundtrip` the program after each pass is printed and parsed, and has to be the same. Here it "
        "is not: a pass left it in a state that the printer or parser can't carry. It is a fault of the compiler: "
        "please report it with the program.",
    ),
    CodePage(
        "PT810",
        "a pipeline meets a context it was not made for",
        "A pipeline is resolved for one planner, one backend and certain values of the options that switch passes on "
        "and off, and refuses to run under others: resolve it again.",
    ),
    CodePage(
        "PT811",
        "two places name different machines or planners",
        "`compile(..., backend=...)` inside of a `PassContext` with another backend, or the same for the planner: the "
        "facts show both. Leave one of them out, or derive a context: `context.derive(backend=...)`. With the names of "
        "PyPTO, the chosen backend and `platform` contradict each other.",
    ),
    CodePage(
        "PT812",
        "no backend is installed",
        "Compiling needs a machine, and machines come from plugins. The message names distributions that bring one: "
        "install it, or unblock it in `PYPTO_PLUGINS`. `pypto plugins` shows whether one is there and could not be "
        "loaded.",
    ),
    CodePage(
        "PT813",
        "several backends are installed",
        "The choice is not the compiler's to make. Say which one: `--backend NAME`, or `backend=` in Python. "
        "`pypto backends` lists them.",
    ),
    CodePage(
        "PT816",
        "an option that nothing asked for",
        "No pass looked the option up and no contract is gated by it; its name is most likely misspelt, or the plugin "
        "that would read it is not installed. The compilation is as if it had not been given. The facts name the "
        "nearest that there are. `pypto passes NAME` lists the options of a pass.",
    ),
    CodePage(
        "PT817",
        "a target found nothing to write",
        "A warning: no function of the program is a kernel on a core, so that no file came out. A kernel says what it "
        "is, with `@pl.function(type=pl.FunctionType.InCore)`; a plain `@pl.function` is one for the host unless "
        "`pl.at` scopes in it become kernels. The facts show what each function is.",
    ),
    CodePage(
        "PT818",
        "there is no such verification level",
        "`PYPTO_VERIFY_LEVEL` and `--verify` take `none`, `basic` or `roundtrip`. `basic` checks the input and what "
        "each pass says it makes; `roundtrip` also prints and parses the program after each pass.",
    ),
    CodePage(
        "PT819",
        "the options of a pass are given twice",
        "Two texts configure one pass, and which of them counts would depend on their order. Write them as one: "
        "`Name{a=1 b=2}`.",
    ),
    CodePage(
        "PT820",
        "something that can't be compiled",
        "`compile` takes a program, a function, what `@pl.program` or `@pl.function` made of one, or the path of a "
        "`.py` file. A plain Python function is none of these: decorate it. The text of a program goes through "
        "`pl.parse` first.",
    ),
    CodePage(
        "PT821",
        "nowhere to write the dumps",
        "`dump_passes` writes the program after each pass as a file, below the folder `output_dir` "
        "(`--output` on the command line). Give the folder, or use `pypto report` to see every step in one page.",
    ),
    CodePage(
        "PT822",
        "a file can't be written",
        "The folder can't be made, is a file, is read-only, or the disk is full; the sentence ends with the reason of "
        "the system. Choose a folder that you may write to.",
    ),
    CodePage(
        "PT823",
        "a picture of a kind that can't be written",
        "Graphs are written as SVG: give the file a name that ends in `.svg`, as in "
        "`pypto pipeline --graph pipeline.svg`.",
    ),
)

JIT_PAGES = (
    CodePage(
        "PT830",
        "an argument that no kernel can take",
        "A kernel under `@pl.jit` takes arrays of any library that tells shape and element type, and numbers, "
        "strings, element types, enum members and lists of these. Element types are those of the language: complex "
        "numbers, objects and byte orders of other machines are not among them. Extents are at least 1.",
    ),
    CodePage(
        "PT831",
        "a kernel was called with arguments that it has no parameters for",
        "There are more arguments than parameters, a name that no parameter has, or one parameter is given twice. The "
        "facts list the parameters. Arguments may be given by name; outputs at the end may be left out where the "
        "annotation says their shape.",
    ),
    CodePage(
        "PT832",
        "an output can't be written in place",
        "What a kernel writes belongs into the caller's array. That needs memory of this computer that may be "
        "written: a numpy array, a tensor that shares its memory as one, or whatever hands it out by "
        "`__array_interface__` or DLPack. Read-only views and arrays on a device are refused before anything runs.",
    ),
    CodePage(
        "PT833",
        "a setting of the cache can't be read",
        "`PYPTO_CACHE_BYTES` is a number of bytes, such as `268435456`, without a unit. `PYPTO_CACHE=off` switches the "
        "cache off. Correct or unset the variable that the message names.",
    ),
    CodePage(
        "PT834",
        "a compiled kernel was called with other constants",
        "Numbers that are passed to a kernel are part of it: branches on them were decided and loops over them "
        "measured out. What `compile` returns is the kernel for one set of them; the decorated function takes any.",
    ),
)

COMMAND_PAGES = (
    CodePage(
        "PT850",
        "an option that can't be read",
        "Options for passes are `NAME=VALUE`, such as `-O enable_buffer_ir=false`; a name alone means true, and yes, "
        "no, on and off are understood. One that switches passes takes nothing else. What is chosen by a flag of its "
        "own (`backend`, `planner`, `goal`) is no option of passes: see `--help`.",
    ),
    CodePage(
        "PT851",
        "no page for a code",
        "No installed package has a page of this code. Codes look like `PT301` or `PH-AT-006`; `pypto explain` lists "
        "them all. The code of a plugin that is not installed is not known here.",
    ),
    CodePage(
        "PT852",
        "a golden function returns what is no output",
        "`golden(**inputs)` returns a dictionary from names of outputs to arrays. The name in the message is no `Out` "
        "or `InOut` parameter of the function that ran; the facts list those. For example:\n\n"
        "    def golden(a, b):\n"
        '        return {"out": a @ b}',
    ),
    CodePage(
        "PT853",
        "a file can't be read as arrays",
        "`--inputs` takes what `numpy.savez(file, name=array, ...)` writes: an archive with one array for each "
        "parameter, by name. A single array (`numpy.save`) has no name. Pickled objects are not accepted, as reading "
        "them would execute them.",
    ),
    CodePage(
        "PT854",
        "a file has no function golden",
        "`--golden FILE` executes the file and calls its `golden(**inputs)`, which returns `{output: array}`. Define "
        "it at the top level of the file; it may be the file of the kernel itself. `inputs(rng)` may stand beside it.",
    ),
    CodePage(
        "PT855",
        "a golden file fails",
        "The file given with `--golden`, or its function `golden` or `inputs`, raised an error, which the message "
        "repeats. `golden` is called with the inputs that it has parameters for, as numpy arrays; `inputs` with a "
        "`numpy.random.Generator`. Run the file with python alone to see where it fails.",
    ),
    CodePage(
        "PT856",
        "the system refused a file or folder",
        "Opening, reading or writing failed; the message names the path and the reason, such as *No such file or "
        "directory* or *Permission denied*. Check the path, and that you may read or write it.",
    ),
    CodePage(
        "PT857",
        "nothing to explain about a file",
        "What `pypto explain FILE` tells comes from installed plugins, as sections of the report on a compilation. "
        "The flags that choose among them need a file.",
    ),
    CodePage(
        "PT858",
        "too little memory on this computer",
        "A run holds every tensor of a kernel, as written and as compiled. The message gives the array that found no "
        "room. A kernel does the same on fewer rows: declare smaller tensors, or extents with `pl.dynamic` and give "
        "small inputs.",
    ),
    CodePage(
        "PT859",
        "a command line that can't be read",
        "There is no such command or option, an argument is missing, or a value is none of the choices. `pypto COMMAND "
        "--help` lists them. The code is given with `--json`; without it the command prints its usage.",
    ),
    CodePage(
        "PT860",
        "a name that no package can have",
        "`pypto new pass` takes a name in capitals for its words, such as `FuseScale`. `pypto new backend` takes "
        "small letters, digits and `_`, such as `acme1`. Distribution, package and module are named after it.",
    ),
    CodePage(
        "PT861",
        "a folder is there already",
        "`pypto new` writes into a folder that does not exist or is empty, so that nothing of yours is replaced. "
        "Choose another with `--directory`, or move the old one away.",
    ),
    CodePage(
        "PT862",
        "the conformance suites are not complete",
        "`pypto check-plugin` runs them with pytest, hypothesis and numpy, which a plain installation does not have: "
        "`pip install 'pypto-core[conformance]'`.",
    ),
    CodePage(
        "PT863",
        "no step of that name",
        "`pypto diff` takes names or numbers of steps of this compilation; the facts list them in order. A pass that "
        "was skipped is no step: `pypto pipeline FILE --explain` says why.",
    ),
    CodePage(
        "PT864",
        "the workers died",
        "With `--jobs` or `--executor`, processes were lost several times with work left: most often the system ends "
        "them when memory runs out. Nothing that was finished is lost. Run the file that the message names by "
        "itself, or use fewer jobs.",
    ),
    CodePage(
        "PT865",
        "no cluster at an address",
        "`--executor dask://host:port` needs dask (`pip install 'pypto-core[dask]'`) and a scheduler that answers at "
        "that address. Start one with `dask scheduler`, and workers with `dask worker`, in the same environment. "
        "Without a cluster, `--jobs N` uses processes of this computer.",
    ),
    CodePage(
        "PT866",
        "two files would be written to one folder",
        "Several files that are compiled together get a folder each, named after the file. Two of these have one "
        "name. Compile them in two goes with different `--output`, or rename one.",
    ),
)

_REPORT = " Please report it, with the program or the command line that led there."

FAULT_PAGES = (
    CodePage(
        "PT900",
        "a fault of the compiler",
        "The compiler broke a rule of its own, and nothing that you wrote is wrong. The exit code of commands is 3."
        + _REPORT,
    ),
    CodePage(
        "PT901",
        "the solver's plan fails its own check",
        "Each plan is checked step by step before it is used: what every pass requires holds, nothing forbidden does, "
        "and the goals are reached. This plan was refused." + _REPORT,
    ),
    CodePage(
        "PT910",
        "a pass failed",
        "The code of a pass raised an error that is no diagnostic. The facts name the pass and who provides it, and "
        "the function that it worked on; Python's own message follows. Report it to the provider, with the program "
        "that it was given (`pypto compile FILE --output DIR --dump-passes` writes it).",
    ),
    CodePage(
        "PT911",
        "a pass returned something else than a program",
        "A pass on programs returns a program and a pass on functions returns a function, the same one when nothing "
        "changed. A function without `return` gives None, the most common cause. Mend the pass.",
    ),
    CodePage(
        "PT912",
        "a verifier failed",
        "The function that checks a property raised an error instead of yielding findings. The facts name the "
        "property. Report it to whoever provides it.",
    ),
    CodePage(
        "PT913",
        "a target failed",
        "The code that writes the finished program down raised an error that is no diagnostic, can't say which "
        "properties it wants, or made an artifact of something else than text or bytes. The facts name the target. "
        "Report it to whoever provides it.",
    ),
    CodePage(
        "PT914",
        "a target made two files of one name",
        "Artifacts of one compilation have different names, or the second would replace the first. Report it to "
        "whoever provides the target.",
    ),
    CodePage(
        "PT915",
        "a command failed",
        "An error that nobody foresaw, in one sentence with the place in the code where it began." + _REPORT,
    ),
)
