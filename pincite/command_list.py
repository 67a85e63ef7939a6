"""All commands by name, with what `pincite --help` says of them; none is imported before it runs."""

from collections.abc import Mapping

from typer.core import TyperGroup

from pincite.lazy_commands import LazyCommand

COMMANDS = {
    "index": (
        "pincite.commands.index:index",
        "Bring the index up to date with a source: new, changed, deleted, stale and retryable documents.",
    ),
    "retry": (
        "pincite.commands.index:retry",
        "Try failed documents again, also those whose failure looked permanent.",
    ),
    "migrate": (
        "pincite.commands.migrate:migrate",
        "Move the index to another embedding model or chunker while it is searched; or go on, switch back, give up.",
    ),
    "status": (
        "pincite.commands.report:status",
        "Counts, the live model version, what is stale, the last run.",
    ),
    "documents": (
        "pincite.commands.report:documents",
        "A row per document: state, reason, attempts, pages, chunks, OCR confidence, warnings.",
    ),
    "search": (
        "pincite.commands.search:search",
        "Find passages; each comes with the place where it stands.",
    ),
    "ask": (
        "pincite.commands.ask:ask",
        "Answer from at most four passages, or say no; with citations that were checked.",
    ),
    "evaluate": (
        "pincite.commands.evaluate:evaluate",
        "Score the index by questions whose answers are known: intervals, paired tests, losses, refusals.",
    ),
    "calibrate": (
        "pincite.commands.calibrate:calibrate_index",
        "Choose the threshold under which passages answer, on one half of the questions; report on the other.",
    ),
    "cite": (
        "pincite.commands.cite:cite",
        "Open a passage: its document's text around it, with the passage marked.",
    ),
    "verify": (
        "pincite.commands.verify:verify",
        "Check every invariant on what is stored. Nothing is changed.",
    ),
    "chunk": ("pincite.commands.chunk:chunk", "Print the chunks of one file; nothing is stored."),
    "inspect": (
        "pincite.commands.inspect:inspect",
        "Show one document as the pipeline sees it, as an HTML page; nothing is indexed.",
    ),
    "serve": (
        "pincite.commands.serve:serve",
        "Serve the index until it is interrupted: the dashboard at /, and the same over HTTP.",
    ),
    "mcp": (
        "pincite.commands.mcp:mcp",
        "Serve the index to an assistant over standard input and output (Model Context Protocol).",
    ),
    "sql": (
        "pincite.commands.sql:sql",
        "Ask the newest version, or a former one, in SQL (DuckDB, read only). Prints CSV, or JSON with --json.",
    ),
    "compact": (
        "pincite.commands.maintain:compact",
        "Merge small segments and leave out dead rows. Older versions stay readable until a vacuum.",
    ),
    "doctor": (
        "pincite.commands.doctor:doctor",
        "Look at tools, models, disk, ledger, segments and documents; each finding comes with its remedy.",
    ),
    "export": (
        "pincite.commands.exchange:export",
        "Write the whole index to one file, or one version as Parquet for other programs. Runs may go on meanwhile.",
    ),
    "import": (
        "pincite.commands.exchange:import_",
        "Make an index of an exported file. Every checksum is compared; a half or changed file is refused.",
    ),
    "forget": (
        "pincite.commands.maintain:forget",
        "Remove documents from every version: texts, vectors, words and caches; then scan the folder for traces.",
    ),
    "vacuum": (
        "pincite.commands.maintain:vacuum",
        "Remove what only old versions hold. What a living reader reads stays.",
    ),
}
"""Name to (where it is, the first line of its docstring): a command is imported when it runs."""

GROUPS = {
    "questions": (
        "Sets of questions with their ground truth.",
        {
            "check": (
                "pincite.commands.questions:check",
                "Check that each expected sentence stands in the index exactly once and is no heading.",
            ),
            "import": (
                "pincite.commands.questions:import_set",
                "Turn a published set into documents to index and questions to ask.",
            ),
        },
    ),
}
"""Name to (summary, its commands, each as in `COMMANDS`)."""


def _lazy(commands: Mapping[str, tuple[str, str]]) -> list[LazyCommand]:
    return [LazyCommand(name, target, summary) for name, (target, summary) in commands.items()]


def _groups() -> list[TyperGroup]:
    return [
        TyperGroup(
            name=name, help=summary, no_args_is_help=True, rich_markup_mode=None, commands=_lazy(commands)
        )
        for name, (summary, commands) in GROUPS.items()
    ]


app = TyperGroup(
    name="pincite",
    help="Index documents, search them, and get passages whose place can be checked.",
    no_args_is_help=True,
    rich_markup_mode=None,
    commands=[*_lazy(COMMANDS), *_groups()],
)
