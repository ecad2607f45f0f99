"""The commands and their options."""

from __future__ import annotations

import inspect
import io
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import click

from adacoder import programs
from adacoder.cli import COULD_NOT_RUN, HOOK_FAILED, INTERRUPTED, options
from adacoder.cli.terminal import complain
from adacoder.domain import AdaCoderError
from adacoder.settings import Settings

if TYPE_CHECKING:
    from adacoder.cli.output import Output
    from adacoder.cli.work import Command

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")


def run(arguments: Sequence[str], serve_agent: Callable[..., int] | None = None) -> int:
    """Run the command line `arguments`. Return the exit code. `serve_agent` starts the server of `adacoder mcp`.

    Raises:
        KeyboardInterrupt: the user pressed Ctrl-C before the command began.
    """
    try:
        with adacoder.make_context("adacoder", list(arguments), obj=serve_agent) as context:
            code = adacoder.invoke(context)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "adacoder"
        complain(f"{_one_line(error.format_message()).rstrip('.')}. See `{command} --help`.")
    except click.ClickException as error:
        complain(_one_line(error.format_message()))
    except AdaCoderError as error:
        complain(str(error))
    except BrokenPipeError:
        # The program that read stdout has ended, such as `head`. Discard the remaining output, or Python would print an
        # error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return HOOK_FAILED if arguments[:1] == ["hook"] else COULD_NOT_RUN


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _await(work: Coroutine[object, object, int], written: Callable[[], int] = lambda: 0) -> int:
    """Run `work` and return its exit code. After Ctrl-C, report how many functions were already written to files."""
    try:
        return programs.run(work)
    except KeyboardInterrupt:
        count = written()
        done = f"functions already written: {count}" if count else "nothing was written"
        complain(f"Interrupted; {done}.")
        return INTERRUPTED


def _with(function: Callable[..., T], values: dict[str, object]) -> T:
    """Call `function` with those of `values` that are among its parameters. Remove these from `values`."""
    return function(**{name: values.pop(name) for name in inspect.signature(function).parameters})


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="adacoder", prog_name="adacoder", message="%(prog)s %(version)s")
@click.pass_context
def adacoder(context: click.Context) -> None:
    """Write Python functions from their docstrings with a local model, and run the docstrings' examples before
    anything is offered.

    Exit codes: 0 verified, 1 no verified candidate, 2 could not run, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@adacoder.command()
@options.place
@options.wish
@options.form
@options.all_settings
@options.record
def generate(place: str, **values: object) -> int:
    """Write the function that a docstring describes.

    PATH alone means every function in the file with a docstring and no body yet.
    """
    from adacoder.cli.work import GENERATE

    return _work(GENERATE, place, values)


@adacoder.command()
@click.argument("place", metavar="[PATH[::NAME|:LINE]]", required=False)
@click.option("--test", metavar="TEST", help="Fix the function that makes a test fail, named as pytest names it.")
@options.wish
@options.form
@options.all_settings
@options.record
def fix(place: str | None, *, test: str | None, **values: object) -> int:
    """Fix a function whose examples fail, or a test of the project.

    The model is asked only if no repair rule helps.

    PATH alone means every function in the file whose examples do not pass. With --test, at most three
    functions that the test runs are tried. A function that few passing tests run is tried first.
    """
    from adacoder.cli.work import FIX

    if (place is None) == (test is None):
        raise click.UsageError("Give either PATH or --test TEST.", click.get_current_context())
    return _work(FIX, place or "", values, test)


@adacoder.command()
@click.argument("places", metavar="[PATH[::NAME|:LINE]]...", nargs=-1)
@click.option("-v", "--verbose", is_flag=True, help="Report every docstring, not only failures.")
@click.option("--coverage", "covers", is_flag=True, help="Report the lines and branches that no example reaches.")
@click.option("--tests", "tested", is_flag=True, help="Also run the project's tests that run each function.")
@click.option(
    "-k",
    "selects",
    metavar="EXPRESSION",
    callback=options.selection,
    help="Check only docstrings whose PATH::NAME matches, as in pytest.",
)
@click.option("-x", "--exitfirst", "exits_first", is_flag=True, help="Stop at the first docstring that fails.")
@click.option("--update", "updates", is_flag=True, help="Show a change that writes the actual outputs into the files.")
@click.option("--write", "writes", is_flag=True, help="With --update, make the change.")
@click.option("--pages", "reads_pages", is_flag=True, help="Also check the .md and .rst files of folders.")
@click.option("--changed", is_flag=True, help="Check only what changed since HEAD, also with the examples of HEAD.")
@click.option(
    "--base",
    metavar="REV",
    help="With --changed, compare with this whole id, or with the merge base of another REV and HEAD.",
)
@click.option(
    "--reach",
    type=click.Choice(["none", "module"]),
    help="With --changed, also check the docstrings in a file that use what changed there.  [default: module]",
)
@click.option("--keep-examples", "keeps", is_flag=True, help="With --changed, fail if an earlier example is lost.")
@options.settings("exclude")
@click.option("--junit", type=options.ANY, metavar="FILE", help="Also write a JUnit XML report.")
@click.option("--sarif", type=options.ANY, metavar="FILE", help="Also write a SARIF report for code scanning.")
@click.option("--allow-empty", "allows_empty", is_flag=True, help="Accept files and folders without examples.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github"]),
    default="text",
    help="With github, also print annotations for GitHub Actions.",
)
@options.as_json
@options.evaluation
def check(
    places: tuple[str, ...],
    *,
    verbose: bool,
    as_json: bool,
    form: str,
    changed: bool,
    base: str | None,
    reach: str | None,
    keeps: bool,
    **values: object,
) -> int:
    """Run the examples of docstrings in isolation, and show the failures.

    PATH is a file or a folder, by default the whole workspace. Every docstring in it that has examples is checked.

    Exit codes: 0 nothing failed; 1 an example failed or was denied, or a module could not be imported; 2 nothing could
    run, or a file could not be read, is not Python, or was named but has no example.
    """
    from adacoder.cli.checking import Checking
    from adacoder.cli.findings import Annotations, CheckedObjects, Findings
    from adacoder.cli.place import Place

    if values["writes"] and not values["updates"]:
        raise click.UsageError("--write needs --update.", click.get_current_context())
    if as_json and (verbose or form != "text" or values["updates"]):
        other = "--verbose" if verbose else "--format" if form != "text" else "--update"
        raise click.UsageError(f"{other} and --json cannot be combined.", click.get_current_context())
    if not changed and (base is not None or reach is not None or keeps):
        raise click.UsageError("--base, --reach and --keep-examples need --changed.", click.get_current_context())
    values["changed"] = None
    if changed:
        from adacoder.changed import Changed

        values["changed"] = Changed(base, reaches=reach != "none", keeps=keeps)
    text = Annotations if form == "github" else Findings
    view = CheckedObjects() if as_json else text(verbose=verbose)
    return _await(_with(partial(Checking, values, view), values).carry_out([Place.parse(place) for place in places]))


@adacoder.command()
@click.argument("event", type=click.File("rb"), default="-")
@click.option("--install", "agent", metavar="AGENT", help="Print the configuration for an agent, or for git.")
@click.option(
    "--agent",
    "form",
    type=click.Choice(["auto", "exit2"]),
    default="auto",
    help="With exit2, block by the exit code, for agents that read no JSON.",
)
@click.option("--base", metavar="REV", help="Compare with this commit.  [default: HEAD at the start of the session]")
@click.option("--tests", "tested", is_flag=True, help="Also run the project's tests that run a changed function.")
@click.option(
    "--max-blocks",
    "most_blocks",
    type=click.IntRange(0, 100),
    default=3,
    show_default=True,
    help="Number of times that a session is kept from stopping.",
)
@click.option("--strict", "is_strict", is_flag=True, help="Block also if the check cannot run.")
@options.evaluation
def hook(*, event: BinaryIO, agent: str | None, form: str, **values: object) -> int:
    """Keep a coding agent from stopping while functions that it changed fail their examples.

    The agent runs this command as a hook, with an event on stdin. EVENT is a file with an event, to try the hook.
    --install prints how to set it up for claude, codex, gemini, qwen, vibe and git.

    Exit codes: 0 the answer, if any, is on stdout; 1 the check could not run, and the agent may stop; 2 with --agent
    exit2, the agent must go on.
    """
    if agent is not None:
        from adacoder.cli.hook_setup import print_setup

        return print_setup(agent)
    from adacoder.cli.hook import Hook

    values["by_code"] = form == "exit2"
    return _await(_with(partial(Hook, values), values).carry_out(event))


@adacoder.command()
@options.place
@click.option("--against", required=True, metavar="REV|FILE", help="The earlier version: a commit, or a file.")
@options.as_json
@options.evaluation
def compare(place: str, *, against: str, as_json: bool, **values: object) -> int:
    """Show where a function behaves differently from an earlier version of it.

    Both versions run the examples of their docstrings, and inputs that differ from these in one value or argument. No
    model is asked. PATH alone means every function in the file that has examples.

    Exit codes: 0 no difference was found, 1 a function differs, 2 could not run.
    """
    from adacoder.cli.comparing import Comparing
    from adacoder.cli.place import Place

    return _await(Comparing(against, values, as_json=as_json).carry_out(Place.parse(place)))


@adacoder.command()
@options.place
@click.option(
    "--reply",
    required=True,
    type=click.File(encoding="utf-8", errors="replace"),
    metavar="FILE",
    help="The model's reply, unchanged; - reads it from stdin.",
)
@options.form
@options.evaluation
def apply(place: str, *, reply: io.TextIOBase, **values: object) -> int:
    """Insert a model's reply, wherever it comes from.

    The repair rules fix it, and the examples verify it; no model is asked. PATH alone is enough if the file has one
    function.
    """
    from adacoder.cli import work

    return _work(work.apply(reply.read()), place, values)


@adacoder.command()
@options.setting("models", unset="the recorded replies")
@options.settings("host", "base_url", "isolation")
@click.option("--keep", is_flag=True, help="Keep the temporary folder, and show its path.")
def demo(*, keep: bool, **values: object) -> int:
    """Watch AdaCoder write a function, step by step.

    The model's replies are recorded, so it needs no model; --model asks a real one. Everything else is real.
    """
    from adacoder.cli.demo import Demo

    return _await(Demo(values, keep=keep).show())


@adacoder.command()
@options.as_json
@click.option("--no-probe", is_flag=True, help="Do not load a model to measure its speed.")
@options.settings("models", "host", "base_url", "context_tokens", "allow_cloud")
@options.examination
def doctor(*, as_json: bool, no_probe: bool, **values: object) -> int:
    """Show what works here, and how to fix the rest."""
    from adacoder.cli.doctor_report import show_health

    return _await(show_health(values, as_json=as_json, probes_speed=not no_probe))


@adacoder.command()
@options.as_json
@click.option("--all", "has_ablations", is_flag=True, help="List the papers' ablations too.")
def strategies(*, as_json: bool, has_ablations: bool) -> int:
    """List the workflows for --strategy, with their agents and their cost."""
    from adacoder.cli.registry import show_strategies

    return show_strategies(as_json=as_json, has_ablations=has_ablations)


_COMPARED = (
    *("max_iterations", "timeout", "interpreter", "isolation", "context_tokens", "host", "base_url", "allow_cloud"),
    *("first_token_timeout", "token_timeout", "reply_timeout"),
)
"""Settings that are options of `adacoder arena` and `adacoder models`."""


@adacoder.command()
@click.argument("tasks", type=options.ANY)
@click.option(
    *("--strategy", "strategies"),
    callback=options.split,
    default=Settings().strategy,
    show_default=True,
    metavar="A,B",
    help="Workflows to compare.",
)
@click.option("--model", "models", callback=options.split, required=True, metavar="X,Y", help="Models to compare.")
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Attempts at each task.")
@click.option("--only", default="*", metavar="ID", help="Only tasks with this id; * matches any characters.")
@click.option(
    *("--download", "downloads"),
    is_flag=True,
    help="Download TASKS (humaneval, mbpp or mbpp-sanitized) from the dataset hub into a file here.",
)
@click.option(
    "--rows",
    type=options.FILE,
    default=Path("arena.jsonl"),
    show_default=True,
    metavar="FILE",
    help="Results of the cells. A run continues where this file ends.",
)
@click.option(
    *("--record", "records"),
    type=options.FOLDER,
    metavar="FOLDER",
    help="Record each cell's conversation with its model in FOLDER.",
)
@click.option(
    *("--replay", "replays"),
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Answer from the recordings of --record in FOLDER, without a model.",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Cells to run at a time. [default: depends on the kind of server]",
)
@click.option(
    "--patience",
    type=click.FloatRange(0),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Time to keep retrying a server that fails.",
)
@click.option("--dask", metavar="ADDRESS", help="Run the cells on the Dask cluster with its scheduler at ADDRESS.")
@click.option(
    "--dask-without-tls",
    is_flag=True,
    help="Accept a cluster on another machine without encryption. Anyone on the network path can run code here.",
)
@options.settings(
    *(*_COMPARED, "budget_calls", "budget_tokens", "budget_seconds", "budget_programs", "seed", "cross_check")
)
def arena(**values: object) -> int:
    """Compare models and workflows on tasks with hidden tests.

    TASKS is a file of a benchmark's tasks (HumanEval, MBPP, their -ET and EvalPlus variants, LiveCodeBench), or a
    folder of your own code. Every function whose examples pass is then a task, with half of its examples hidden.

    Exit codes: 0 every cell has a row, 2 some have none, 130 interrupted.
    """
    from adacoder.cli.arena import Wanted, compare

    return compare(_with(Wanted, values), values)


@adacoder.command()
@click.argument("rows", type=options.FILE, nargs=-1, required=True)
@click.option(
    *("--paper", "sets"),
    type=click.Choice(["own", "adacoder", "agentcoder", "codetree", "semag", "all"]),
    callback=lambda context, parameter, value: () if "all" in value else value,
    multiple=True,
    default=("own",),
    show_default=True,
    help="Set of tables. May be given several times.",
)
@click.option(
    *("--format", "form"),
    type=click.Choice(["terminal", "markdown", "csv"]),
    default="terminal",
    show_default=True,
    help="Form of the tables.",
)
@click.option("--k", "ks", type=click.IntRange(1), multiple=True, help="Also show pass@K. May be given several times.")
@click.option("--html", type=options.FILE, metavar="FILE", help="Also write an HTML report.")
@click.option("--plots", type=options.FOLDER, metavar="FOLDER", help="Also draw the figures.")
@click.option(
    *("--plot-format", "kind"),
    type=click.Choice(["svg", "png", "pdf"]),
    default="svg",
    show_default=True,
    help="Form of the figures.",
)
def tables(rows: tuple[Path, ...], **values: object) -> int:
    """Show the arena's ROWS as tables: our own, or those of the papers.

    Several files of rows are merged; each cell counts once.
    """
    from adacoder.cli.row_tables import TableOptions, show_tables

    return show_tables(rows, _with(TableOptions, values))


@adacoder.command()
@click.argument("tasks", type=options.ANY, required=False)
@click.option("--rank", is_flag=True, help="Find the model and workflow that are right most often on TASKS.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True, help="Time limit.")
@click.option(
    *("--model", "models"),
    callback=options.split,
    default="",
    metavar="X,Y",
    help="Models to rank. [default: the installed models]",
)
@click.option(
    *("--strategy", "strategies"),
    callback=options.split,
    default="adacoder,auto,direct",
    show_default=True,
    metavar="A,B",
    help="Workflows to rank.",
)
@click.option(
    "--rows", type=options.FILE, metavar="FILE", help="Keep the results in FILE, and continue from them next time."
)
@click.option("--write", "writes", is_flag=True, help="Write the winner to [tool.adacoder] in pyproject.toml.")
@options.as_json
@options.settings(*_COMPARED)
def models(*, rank: bool, **values: object) -> int:
    """List the models of a server; with --rank, find the best of them on TASKS.

    TASKS is a folder of your own code, by default this one, or a file of a benchmark's tasks.
    """
    from adacoder.cli.models import Contest, list_models, rank_models

    contest = _with(Contest, values)
    if rank:
        return _await(rank_models(contest, values))
    if contest.tasks is not None or contest.writes:
        raise click.UsageError("TASKS and --write need --rank.", click.get_current_context())
    if values.get("host") and values.get("base_url"):
        raise click.UsageError(
            "--host and --base-url name two servers: list one at a time.", click.get_current_context()
        )
    return _await(list_models(values, as_json=contest.as_json))


@adacoder.command()
@click.option(
    "--root", type=options.FOLDER, metavar="DIR", help="The agent may name only files below DIR. [default: .]"
)
@click.option("--read-only", is_flag=True, help="Offer no tool that changes files.")
@click.option(
    "--log", "told", type=options.FILE, metavar="FILE", help="Append each result that the agent receives to FILE."
)
@options.all_settings
@click.pass_obj
def mcp(
    serve_agent: Callable[..., int], /, *, root: Path | None, told: Path | None, read_only: bool, **values: object
) -> int:
    """Start an MCP server for coding agents, over stdin and stdout.

    Agents check examples, verify candidates and insert verified functions with it. See docs/agents.md.
    """
    return serve_agent(root, told, values, read_only=read_only)


adacoder.add_command(
    click.Command(
        "serve",
        params=[click.Option(["--stdio"], is_flag=True, help="Accepted, because some editors pass it.")],
        help="Start a language server for editors, over stdin and stdout.",
    )
)
# The command exists only for the help: `__main__` starts the server without importing the command line.


def _output(write: bool, diff: bool, as_json: bool, allow_unverified: bool) -> Output:
    from adacoder.cli.output import Objects, Proposal, Writing

    if write + diff + as_json > 1:
        raise click.UsageError("--write, --diff and --json cannot be combined.", click.get_current_context())
    if allow_unverified and not write:
        raise click.UsageError("--allow-unverified needs --write.", click.get_current_context())
    if write:
        return Writing(allow_unverified=allow_unverified)
    return Objects() if as_json else Proposal()


def _work(command: Command, place: str, values: dict[str, object], test: str | None = None) -> int:
    from adacoder.cli.place import Place
    from adacoder.cli.work import Work

    output, wish = _with(_output, values), str(values.pop("wish", ""))
    work = Work(command, values, output, wish)
    doing = work.carry_out(Place.parse(place)) if test is None else work.turn_green(test)
    return _await(doing, lambda: output.written)
