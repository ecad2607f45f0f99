"""Options that several commands share. Options of settings are made from the definitions of the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from adacoder.messages import Named
from adacoder.settings import SETTINGS, Settings, field_name
from adacoder.task import one_wish

F = TypeVar("F", bound=Callable[..., object])


def combined(*added: Callable[[F], F]) -> Callable[[F], F]:
    """Combine options into one decorator. The help lists them in the given order."""

    def decorate(function: F) -> F:
        for option in reversed(added):
            function = option(function)
        return function

    return decorate


def split(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Split a value such as `A,B` into names, without duplicates."""
    return tuple(dict.fromkeys(filter(None, value.split(","))))


def _read(context: click.Context, parameter: click.Parameter, value: object) -> object:
    """Check an option's value in the same way as a value from an editor or a project."""
    if value is None or value == ():
        return None
    name = field_name(str(parameter.name))
    try:
        read = SETTINGS[name or ""].values.read(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise click.BadParameter(str(error), context, parameter) from None
    if name == "interpreter":
        from adacoder.sandbox.environment.choice import look_up

        return str(look_up(str(value), Path.cwd()))
    return read if isinstance(read, tuple) else value


def selection(context: click.Context, parameter: click.Parameter, value: str | None) -> Callable[[str], bool] | None:
    """Read the expression of `-k`. An invalid expression is a usage error."""
    from adacoder.cli.keywords import selecting

    try:
        return None if value is None else selecting(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


def _wish(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        return one_wish(value)
    except ValueError as error:
        raise click.BadParameter(f"It must {error}.", context, parameter) from None


class _StrategyOption(click.Option):
    """The option `--strategy`. Only its help lists the strategies, because importing them is slow."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from adacoder.strategies import LISTED

        about = SETTINGS["strategy"].about.rstrip(".")
        self.help = f"{about}: {LISTED}. [default: {Settings().strategy}]"
        return super().get_help_record(ctx)


def setting(name: str, unset: str = "") -> Callable[[F], F]:
    """Return the option of the setting `name`. `unset` describes the default, if it is not the setting's default."""
    defined = SETTINGS[name]
    values, default = defined.values, getattr(Settings(), name)
    notes = ["May be given several times."] if values.is_list else []
    if shown := unset or defined.unset or default:
        notes.append(f"[default: {f'{shown:g}' if isinstance(shown, float) else shown}]")
    name_of = str(Named(defined.key))
    can_be_off = values.type is bool and defined.by_project is True  # a project's settings may have turned it on
    return click.option(
        f"{name_of}/--no-{name_of.removeprefix('--')}" if can_be_off else name_of,
        cls=_StrategyOption if name == "strategy" else click.Option,
        type=click.Choice(list(values.words)) if values.words else str if values.type is dict else values.type,
        multiple=values.is_list,
        is_flag=values.type is bool,
        default=None,
        metavar=defined.option or None,
        callback=_read,
        help=" ".join([defined.about, *notes]).replace("`", ""),
    )


def settings(*names: str) -> Callable[[F], F]:
    """Return one decorator that adds the options of the settings `names`."""
    return combined(*map(setting, names))


ANY = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

place = click.argument("place", metavar="PATH[::NAME|:LINE]")
_allow_unverified = click.option(
    "--allow-unverified", is_flag=True, help="With --write, also write functions that no example could verify."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
form = combined(
    click.option("--write", is_flag=True, help="Write the function into its file if it is verified."),
    click.option("--diff", is_flag=True, help="Show the change as a diff (the default)."),
    as_json,
    _allow_unverified,
)
wish = click.option(
    "--wish",
    default="",
    metavar="TEXT",
    callback=_wish,
    help="Tell the model what you wish for, such as 'use bisect'. Nothing checks it.",
)
record = click.option(
    "--record",
    type=FILE,
    metavar="FILE",
    help="Record the conversation with the model in FILE, for --model replay:FILE.",
)
all_settings = settings(*(name for name, each in SETTINGS.items() if each.option is not None))
examination = settings("interpreter", "isolation", "hide", "show")
evaluation = combined(settings("timeout", "doctest_options", "doctest_setup", "env"), examination)
