"""Configure the docs' site. `nox -s docs` builds it from the root of the repository, so that links to any file work."""

from __future__ import annotations

import html
import inspect
import textwrap
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer

from adacoder import __version__, domain
from adacoder.models import errors

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "AdaCoder"
author = "The AdaCoder developers"
release = version = __version__
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/howto/*.md",
    "docs/skills/*/*.md",
    "examples/README.md",
    "examples/*/README.md",
]
exclude_patterns = [".*", "**/node_modules", "build", "client", "fixtures", "server", "tests"]
extensions = ["myst_parser", "sphinx_click"]
myst_heading_anchors = 3
highlight_language = "text"
nitpicky = True
smartquotes = False

html_theme = "furo"
html_title = f"AdaCoder {release}"
html_favicon = "../client/media/icon.png"
html_static_path = ["theme"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_use_index = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0f6b57", "color-brand-content": "#0b6350"},
    "dark_css_variables": {"color-brand-primary": "#5fd0b3", "color-brand-content": "#6fd8bd"},
}
_DESCRIBED = 155
"""Maximum length of a page's description. Search engines cut off the rest."""
_FIRST_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>AdaCoder</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"><p><a href="docs/index.html">AdaCoder</a></p></html>
"""
"""The page at the site's root, which redirects to `docs/index.html`."""


def _values(parameter: inspect.Parameter, kind: Any) -> list[object]:
    """Return sample values for a parameter of an error: all members of an enum, else the parameter's name."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [*kind]
    if kind is errors.Kind:
        return [errors.OLLAMA, errors.OPENAI]
    if kind in (str, int):
        return ["http://HOST:PORT" if parameter.name == "url" else parameter.name.upper()]
    return [60 if parameter.default is parameter.empty else parameter.default]


def _messages(error: type[errors.ModelError]) -> Iterator[str]:
    """Yield an error's messages for different values of its parameters."""
    hints = typing.get_type_hints(error.__init__)
    parameters = [each for each in inspect.signature(error).parameters.values() if each.kind is not each.KEYWORD_ONLY]
    values = [_values(each, hints[each.name]) for each in parameters]
    for number in range(max(map(len, values), default=1)):
        yield str(error(*(options[min(number, len(options) - 1)] for options in values)))


def _of_models() -> Iterator[str]:
    yield "| message | reason |\n|---|---|\n"
    for error in vars(errors).values():
        if inspect.isclass(error) and issubclass(error, errors.ModelError) and error is not errors.ModelError:
            yield f"| {'<br>'.join(dict.fromkeys(_messages(error)))} | {inspect.getdoc(error)} |\n"


def _kinds() -> Iterator[str]:
    yield "| kind | meaning |\n|---|---|\n"
    documented = ModuleAnalyzer.for_module(domain.__name__).find_attr_docs()
    for kind in domain.FailureKind:
        yield f"| `{kind}` | {' '.join(documented['FailureKind', kind.name]).strip()} |\n"


def _complete(_: Sphinx, docname: str, content: list[str]) -> None:
    """Insert the tables that are made from code. Hide the README from the site's tree and search."""
    if docname == "README":
        content[0] = f"---\norphan: true\nnosearch: true\n---\n{content[0]}"
    if docname == "docs/messages":
        for place, lines in (("messages of model servers", _of_models()), ("kinds of failures", _kinds())):
            content[0] = content[0].replace(f"<!-- {place} -->\n", "".join(lines))


def _describe(_: Sphinx, _page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Add a page's first paragraph as the description that search engines show."""
    if doctree is not None and (paragraph := next(doctree.findall(nodes.paragraph), None)) is not None:
        text = html.escape(textwrap.shorten(paragraph.astext(), _DESCRIBED, placeholder=" …"))
        context["metatags"] += f'<meta name="description" content="{text}">'


def _write_first_page(app: Sphinx, _: Exception | None) -> None:
    Path(app.outdir, "index.html").write_text(_FIRST_PAGE, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the functions above, and write the page at the site's root."""
    app.connect("source-read", _complete)
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _write_first_page)
